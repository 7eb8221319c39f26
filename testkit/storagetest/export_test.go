package storagetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/storage"
)

// CheckNames returns the names of all checks.
func CheckNames() []string {
	var names []string
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}

// StoreCheck runs one check of TestStore.
func StoreCheck(ctx context.Context, name string, s storage.Store, others ...storage.Store) error {
	all := checks()
	i := slices.Index(CheckNames(), name)
	if i < 0 {
		return fmt.Errorf("there is no check %q", name)
	}
	return test(ctx, all[i:i+1], append([]storage.Store{s}, others...))
}
