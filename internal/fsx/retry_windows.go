package fsx

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// patience is how long others may be in the way. They read a small file, rename one, or
// look at what is new, as virus scanners do.
const patience = 2 * time.Second

// retryOpen calls open until nobody who renames or removes the file is in its way. Where
// access is denied it is so for good, as with a file that the user may not read.
func retryOpen(open func() error) error {
	return retry(open, windows.ERROR_SHARING_VIOLATION)
}

// retryChange calls change, which renames or removes something, until nobody who has it open
// is in its way. A rename onto a file that somebody has open is denied.
func retryChange(change func() error) error {
	return retry(change, windows.ERROR_SHARING_VIOLATION, windows.ERROR_ACCESS_DENIED, windows.ERROR_DELETE_PENDING)
}

func retry(do func() error, passing ...syscall.Errno) error {
	end := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := do()
		if !slices.ContainsFunc(passing, func(e syscall.Errno) bool { return errors.Is(err, e) }) || time.Now().Add(pause).After(end) {
			return err
		}
		time.Sleep(pause)
	}
}

// isInUse reports whether a file cannot be opened because somebody removes or renames it.
func isInUse(err error) bool { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }

// isDenied reports what may also mean that a file is about to be gone.
func isDenied(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_DELETE_PENDING)
}
