package fsx

import (
	"io/fs"
	"os"
	"slices"
	"sync"
)

// processLocks keeps the locks of this process where a lock belongs to the process and not to the open
// file. There the kernel grants a lock to every goroutine that asks, and drops it when the process
// closes any descriptor of the file. So processLocks remembers the locked files and never opens them
// again.
type processLocks struct {
	lock func(fd uintptr) (bool, error)
	mu   sync.Mutex
	held []fs.FileInfo
	kept []*os.File // never closed, which would drop another lock
}

// open opens and locks a file. It returns nil if another holder has the lock.
func (c *processLocks) open(root *os.Root, name string) (*Lock, error) {
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
	if err != nil || c.has(info) { // another process has renamed a locked file to name
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

func (c *processLocks) has(info fs.FileInfo) bool {
	return slices.ContainsFunc(c.held, func(other fs.FileInfo) bool { return os.SameFile(other, info) })
}

// leave closes f before other goroutines may ask for the lock, which closing f would drop.
func (c *processLocks) leave(info fs.FileInfo, f *os.File) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = slices.DeleteFunc(c.held, func(other fs.FileInfo) bool { return os.SameFile(other, info) })
	return f.Close()
}
