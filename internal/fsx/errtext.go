package fsx

import (
	"errors"
	"io/fs"
	"os"
)

// creating turns an error about a random name in dir into one about dir.
func creating(dir string, err error) error {
	return &fs.PathError{Op: "create a file in", Path: dir, Err: cause(err)}
}

// withPath sets the path of an error about a name in a root.
func withPath(path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		e.Path = path
	}
	return err
}

// replacing turns an error about two names into one about target.
func replacing(target string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: "replace", Path: target, Err: cause(err)}
}

// cause returns the cause of an error of package os.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
