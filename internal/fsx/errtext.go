package fsx

import (
	"errors"
	"io/fs"
	"os"
)

// creating makes an error about dir of one about a name in it that the caller has not given.
func creating(dir string, err error) error {
	return &fs.PathError{Op: "create a file in", Path: dir, Err: cause(err)}
}

// at gives an error about a name in a root the path of the file.
func at(path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		e.Path = path
	}
	return err
}

// replacing makes an error about target of one about two names.
func replacing(target string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: "replace", Path: target, Err: cause(err)}
}

// cause returns what an error of package os holds.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
