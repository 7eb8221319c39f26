package fsx

import (
	"errors"
	"io/fs"
	"os"
)

// noDirError says that a directory, in which something was to be made, does not exist.
type noDirError struct {
	dir string
	err error // the system's
}

func (e *noDirError) Error() string { return "the directory " + e.dir + " does not exist" }
func (e *noDirError) Unwrap() error { return e.err }

// creating makes an error about dir of one about a name in it that nobody has asked for.
func creating(dir string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &noDirError{dir, err}
	}
	return &fs.PathError{Op: "write to the directory", Path: dir, Err: cause(err)}
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
