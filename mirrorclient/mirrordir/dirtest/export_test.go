package dirtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// CheckNames returns the names of all checks.
func CheckNames() []string {
	var names []string
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}

// StorageCheck runs one check of TestStorage.
func StorageCheck(ctx context.Context, name string, s mirrordir.Storage, others ...mirrordir.Storage) error {
	all := checks()
	i := slices.Index(CheckNames(), name)
	if i < 0 {
		return fmt.Errorf("there is no check %q", name)
	}
	return test(ctx, all[i:i+1], append([]mirrordir.Storage{s}, others...))
}
