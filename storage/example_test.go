package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/tofureg/tofureg/storage"
)

// A change names the revision that it replaces, so that it does not undo the change of another process.
func Example() {
	path, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(path)
	ctx := context.Background()
	store := &storage.Dir{Path: path}
	write := func(text string, was storage.Revision) error {
		return store.Write(ctx, "list.json", io.NewSectionReader(strings.NewReader(text), 0, int64(len(text))), was)
	}
	if err := write("[]", ""); err != nil { // there must be no file
		log.Fatal(err)
	}
	f, err := store.Open(ctx, "list.json")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	if err := write("[1]", f.Revision); err != nil {
		log.Fatal(err)
	}
	err = write("[2]", f.Revision) // the file has changed since it was opened
	fmt.Println(errors.Is(err, storage.ErrConflict))
	// Output: true
}
