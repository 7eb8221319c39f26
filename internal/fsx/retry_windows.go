package fsx

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// Attempts for about two seconds, while other processes, such as virus scanners, have a file open. On
// a busy computer they take longer, as the other processes do.
const (
	maxTries   = 85
	retryPause = 25 * time.Millisecond // short, because others take turns without a queue
)

// retryOpen repeats open while another process renames or removes the file. It does not repeat
// ERROR_ACCESS_DENIED, which is permanent for an unreadable file.
func retryOpen(open func() error) error {
	return retry(open, windows.ERROR_SHARING_VIOLATION)
}

// retryChange repeats change, which renames or removes a file, while another process has the file
// open.
func retryChange(change func() error) error {
	return retry(change, windows.ERROR_SHARING_VIOLATION, windows.ERROR_ACCESS_DENIED, windows.ERROR_DELETE_PENDING)
}

func retry(do func() error, passing ...syscall.Errno) error {
	for n, pause := 1, firstPause; ; n, pause = n+1, min(2*pause, retryPause) {
		err := do()
		if n == maxTries || !slices.ContainsFunc(passing, func(e syscall.Errno) bool { return errors.Is(err, e) }) {
			return err
		}
		time.Sleep(pause)
	}
}

// isInUse reports whether another process removes or renames the file.
func isInUse(err error) bool { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }

// isDenied reports whether access was denied, possibly because the file is being removed.
func isDenied(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_DELETE_PENDING)
}
