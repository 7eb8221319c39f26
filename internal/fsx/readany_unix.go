//go:build unix

package fsx

import (
	"io"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/tofureg/tofureg/internal/fault"
)

// waitStep is the time in milliseconds between two looks at the context.
const waitStep = 50

// Read calls poll and read itself, because an os.File without a writer is at its end, and has no
// deadlines on all systems.
func (r *contextReader) Read(p []byte) (n int, err error) {
	conn, err := r.f.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := conn.Control(func(fd uintptr) { n, err = r.read(int(fd), p) })
	if err == nil {
		err = failed
	}
	return n, err
}

func (r *contextReader) read(fd int, p []byte) (int, error) {
	for {
		// Before the first writer comes, no event is reported, and a read would return 0 bytes.
		events := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		ready, err := unix.Poll(events, waitStep)
		if r.ctx.Err() != nil {
			return 0, &fs.PathError{Op: "read", Path: r.f.Name(), Err: fault.Ended(r.ctx)}
		}
		// macOS does not report the end of a named pipe as an event.
		if err == nil && ready == 0 && !(r.begun && isNonBlocking(fd)) || err == unix.EINTR {
			continue
		}
		n := 0
		if err == nil {
			n, err = unix.Read(fd, p)
		}
		switch {
		case err == unix.EAGAIN || err == unix.EINTR:
			continue
		case err != nil:
			return 0, &fs.PathError{Op: "read", Path: r.f.Name(), Err: err}
		case n == 0:
			return 0, io.EOF
		}
		r.begun = true
		return n, nil
	}
}

// isNonBlocking reports whether reading returns at once. It does not if a system ignores noBlock for
// /dev/stdin, whose flags belong to others.
func isNonBlocking(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_NONBLOCK != 0
}
