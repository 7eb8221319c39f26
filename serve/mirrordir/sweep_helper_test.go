package mirrordir_test

import (
	"context"

	"github.com/tofureg/tofureg/serve/mirrordir"
)

func sweep(ctx context.Context, m *mirrordir.Mirror) error {
	_, err := m.Sweep(ctx)
	return err
}
