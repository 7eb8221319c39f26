package storagetest_test

import (
	"context"
	"fmt"

	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/storagetest"
)

// Two values for the same place write at the same time. TestStore, called alike, tests all methods.
func ExampleRaceWrites() {
	store := &storage.Memory{} // your store: two clients of one bucket
	err := storagetest.RaceWrites(context.Background(), 100, store, store)
	fmt.Println(err)
	// Output: <nil>
}
