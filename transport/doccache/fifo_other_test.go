//go:build !unix

package doccache_test

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
