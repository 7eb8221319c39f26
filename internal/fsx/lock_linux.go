package fsx

import "os"

const removesOpenFiles = true

// fcntlOFDSetLock is F_OFD_SETLK, the same on all architectures. Unlike F_SETLK, the
// lock belongs to the open file and not to the process: it excludes goroutines too,
// and is not lost when some other descriptor of the file is closed. Each of the two
// kinds excludes the other.
const fcntlOFDSetLock = 37

func openLocked(root *os.Root, name string) (*Lock, error) { return openOwn(root, name) }

func tryLock(fd uintptr) (bool, error) { return setLock(fd, fcntlOFDSetLock) }
