package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// now is the processor time of this thread: other processes do not count.
func now() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err
}
