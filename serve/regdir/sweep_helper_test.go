package regdir_test

import (
	"context"

	"github.com/tofureg/tofureg/serve/regdir"
)

func sweep(ctx context.Context, r *regdir.Registry) error {
	_, err := r.Sweep(ctx)
	return err
}
