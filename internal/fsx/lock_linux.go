package fsx

import "os"

// fcntlOFDSetLock is F_OFD_SETLK, which is the same on all architectures. Unlike with F_SETLK, the
// lock belongs to the open file, so it excludes goroutines and survives closing another descriptor.
// The two kinds exclude each other.
const fcntlOFDSetLock = 37

func openLocked(root *os.Root, name string) (*Lock, error) { return openOwn(root, name) }

func tryLock(fd uintptr) (bool, error) { return setLock(fd, fcntlOFDSetLock) }
