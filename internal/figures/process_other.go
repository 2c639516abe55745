//go:build !linux

package figures

import (
	"errors"
	"time"
)

// CPU is the processor time that a process has used. It is known on Linux only.
func CPU(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

// Resident is the memory that a process has now and the most that it ever had. It is known on Linux only.
func Resident(int) (now, peak int64, err error) { return 0, 0, errors.ErrUnsupported }
