package main

import (
	"fmt"
	"runtime"
)

// versionCommand prints what this binary is.
type versionCommand struct{}

// Run prints the version, the Go release it was built with and the platform.
func (versionCommand) Run(con console) error {
	_, err := fmt.Fprintf(con.out, "monolith %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
