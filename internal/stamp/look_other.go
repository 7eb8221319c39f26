//go:build !linux

package stamp

import (
	"context"
	"errors"
	"os"
)

// look fails: on Windows a change time can be set, and the file systems of other systems have not been
// tested.
func (System) look(context.Context, *os.Root) (look, error) { return look{}, errors.ErrUnsupported }

func checkIdle(context.Context, *os.Root) error { return errors.ErrUnsupported }
