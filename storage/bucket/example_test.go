package bucket_test

import (
	"context"
	"fmt"

	"github.com/tofureg/tofureg/storage/bucket"
)

// List checks the pages of an object store, and makes the entries of a directory of them.
func ExampleList() {
	pages := map[string]*bucket.Page{ // by the token that asks for them
		"":  {Objects: []bucket.Object{{Name: "mirror/acme/index.json", Size: 30}}, More: true, Token: "2"},
		"2": {Prefixes: []string{"mirror/acme/beta/"}},
	}
	entries, err := bucket.List(context.Background(), "mirror/acme/", func(token string) (*bucket.Page, error) {
		return pages[token], nil // a request to the store
	})
	for _, e := range entries {
		fmt.Println(e.Name, e.IsDir, e.Size)
	}
	fmt.Println(err)
	// Output:
	// index.json false 30
	// beta true 0
	// <nil>
}
