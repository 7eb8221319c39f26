package fsx

import (
	"io/fs"
	"os"
	"slices"
	"sync"
)

// classic is the locks of a process, for systems where a lock belongs to the process
// and not to the open file: the kernel gives it to whoever in the process asks for it,
// and takes it away as soon as anybody in it closes any descriptor of the file. So here
// is known which files are locked, and none of these is opened, or closed, again.
type classic struct {
	lock func(fd uintptr) (bool, error)
	mu   sync.Mutex // held for moments, and never while the system is asked
	held []*classicLock
}

type classicLock struct {
	info    fs.FileInfo
	useless []*os.File // of the same file, to be closed with the lock
}

// open opens and locks the file of this name; both results are nil if somebody else
// has the lock.
func (c *classic) open(root *os.Root, name string) (*Lock, error) {
	if info, err := root.Stat(name); err == nil && c.has(info) {
		return nil, nil
	}
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	l := &classicLock{info: info}
	if !c.enter(l, f) {
		return nil, nil
	}
	locked, err := control(f, c.lock)
	if err != nil || !locked {
		c.leave(l, f)
		return nil, err
	}
	return &Lock{file: f, close: func() error { return c.leave(l, f) }, root: root, name: name}, nil
}

func (c *classic) find(info fs.FileInfo) *classicLock {
	i := slices.IndexFunc(c.held, func(l *classicLock) bool { return os.SameFile(l.info, info) })
	if i < 0 {
		return nil
	}
	return c.held[i]
}

func (c *classic) has(info fs.FileInfo) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(info) != nil
}

// enter makes l the one who may ask for the lock of f, or keeps f open until the one
// who may has done with it.
func (c *classic) enter(l *classicLock, f *os.File) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.find(l.info); other != nil {
		other.useless = append(other.useless, f)
		return false
	}
	c.held = append(c.held, l)
	return true
}

// leave closes f, and only then lets others ask: its closing would take the lock away
// from them.
func (c *classic) leave(l *classicLock, f *os.File) error {
	err := f.Close()
	for {
		useless := c.forget(l)
		if len(useless) == 0 {
			return err
		}
		for _, f := range useless {
			f.Close()
		}
	}
}

// forget takes l out, unless there is something to be closed first.
func (c *classic) forget(l *classicLock) (useless []*os.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if useless, l.useless = l.useless, nil; len(useless) == 0 {
		c.held = slices.DeleteFunc(c.held, func(other *classicLock) bool { return other == l })
	}
	return useless
}
