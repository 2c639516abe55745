// Package figures is what the table of "make bench" is made from: how a row looks, what the processor and the memory of a
// process are, days of a server's status to feed a store with, and the programs that stand beside Monolith doing the same
// work. The rows themselves are in the tests of cmd/monolith, which alone may see all parts of Monolith.
package figures
