//go:build unix

package install_test

import "syscall"

// cpu returns the CPU time of the process during f in seconds.
func cpu(f func()) float64 {
	before := used()
	f()
	return used() - before
}

func used() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(u.Utime) + seconds(u.Stime)
}
