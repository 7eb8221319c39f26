package storetest_test

import (
	"testing"

	"github.com/tofureg/tofureg/internal/storetest"
	"github.com/tofureg/tofureg/storage"
)

// TestMemory: a store without a server passes.
func TestMemory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T, func() storage.Store){
		"Publish": storetest.Publish,
		"Mirror":  func(t *testing.T, open func() storage.Store) { storetest.Mirror(t, open, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &storage.Memory{}
			test(t, func() storage.Store { return store })
		})
	}
}
