// Command monolith watches MySQL and MariaDB servers: it collects, keeps history and shows it.
//
// This package is wiring only: one file a sub-command, and the one place that knows every other
// package.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the build (-ldflags "-X main.version=…").
var version = "dev"

// cli is the command line: a field a sub-command.
type cli struct {
	Serve   serveCommand   `cmd:"" help:"Watch servers, keep their history and serve the pages."`
	Rules   rulesCommand   `cmd:"" help:"List, test and describe the rules."`
	Migrate migrateCommand `cmd:"" help:"Bring the store's schema up to this version and stop."`
	Version versionCommand `cmd:"" help:"Print the version and stop."`
}

// console is where a command writes: what was asked for to out, what people should know to err.
type console struct{ out, err io.Writer }

func main() {
	ignoreFileSizeSignal()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], console{os.Stdout, os.Stderr})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "monolith:", err)
		os.Exit(1)
	}
}

// arguments is what everyone on the machine can read in the process list.
type arguments []string

// show reports whether a text stands in the arguments.
func (a arguments) show(text string) bool {
	return slices.ContainsFunc(a, func(arg string) bool { return strings.Contains(arg, text) })
}

// errHelp ends a run that only printed help.
var errHelp = errors.New("help was printed")

// run parses the arguments and runs one sub-command until it ends or ctx does.
func run(ctx context.Context, args []string, con console) (err error) {
	var c cli
	parser, err := kong.New(&c,
		kong.Name("monolith"),
		kong.Description("Monitors MySQL and MariaDB servers: collects, keeps history, shows. One binary, no other service."),
		kong.Writers(con.out, con.err),
		kong.Exit(func(int) { panic(errHelp) }),
		kong.Configuration(loadConfig),
		kong.DefaultEnvars("MONOLITH"),
		kong.UsageOnError(),
		kong.Vars{"data": defaultData()},
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(con, arguments(args)),
	)
	if err != nil {
		return fmt.Errorf("command line: %w", err)
	}
	defer func() {
		if r := recover(); r == errHelp {
			err = nil
		} else if r != nil {
			panic(r)
		}
	}()
	command, err := parser.Parse(args)
	if err != nil {
		return err
	}
	return command.Run()
}
