//go:build !unix

package module_test

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
