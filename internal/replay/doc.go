// Package replay is a server for tests that speaks the MySQL protocol and answers from recordings: what servers that
// can't be installed said, or what no healthy server says. Every [Server] has its own listener and its own faults;
// the recorded data are shared and encoded once, so that hundreds of servers cost little.
//
// A recording knows its version's language. A statement that the version does not have is refused as the real
// server would refuse it, and fails the test, unless it was told to expect that: a monitor must know from the version
// what it may ask.
//
// The protocol is written by hand: it is the few packets that a client of SHOW and SELECT needs, and faults such as an
// answer that is cut in the middle of a row need its single bytes.
package replay
