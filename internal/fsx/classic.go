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
// is known which files are locked, and none of these is opened again.
type classic struct {
	lock func(fd uintptr) (bool, error)
	mu   sync.Mutex
	held []fs.FileInfo
	kept []*os.File // never closed, since that would end the lock of another one
}

// open opens and locks the file of this name; both results are nil if somebody else
// has the lock.
func (c *classic) open(root *os.Root, name string) (*Lock, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if info, err := root.Stat(name); err == nil && c.has(info) {
		return nil, nil
	}
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || c.has(info) { // another process has just given the file this name
		c.kept = append(c.kept, f)
		return nil, err
	}
	locked, err := control(f, c.lock)
	if err != nil || !locked {
		f.Close()
		return nil, err
	}
	c.held = append(c.held, info)
	return &Lock{file: f, close: func() error { return c.leave(info, f) }, root: root, name: name}, nil
}

func (c *classic) has(info fs.FileInfo) bool {
	return slices.ContainsFunc(c.held, func(other fs.FileInfo) bool { return os.SameFile(other, info) })
}

// leave closes f before others may ask: its closing would take the lock away from them.
func (c *classic) leave(info fs.FileInfo, f *os.File) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = slices.DeleteFunc(c.held, func(other fs.FileInfo) bool { return os.SameFile(other, info) })
	return f.Close()
}
