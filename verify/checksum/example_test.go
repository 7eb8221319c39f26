package checksum_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"testing/fstest"

	"github.com/tofureg/tofureg/verify/checksum"
)

func ExampleParseHash() {
	h, err := checksum.ParseHash("zh:" + "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855") // from bare hex
	fmt.Println(h, err)
	_, err = checksum.ParseHash("h1:")
	fmt.Println(errors.Is(err, checksum.ErrEmptyHash))
	// Output:
	// zh:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 <nil>
	// true
}

// The archive has a directory entry, so its two h1 hashes differ.
func ExampleH1Zip() {
	data, err := os.ReadFile("testdata/package.zip")
	if err != nil {
		log.Fatal(err)
	}
	archive, tree, err := checksum.H1Zip(context.Background(), bytes.NewReader(data), int64(len(data)), checksum.Limits{})
	fmt.Println(archive)
	fmt.Println(tree, err)
	// Output:
	// h1:AUwHvwMkbW044RPLg6uCx8WsVu6HNXpUPqnucKzl6w0=
	// h1:8QKBrlOi/bB0GM3SkD/pOU5kZIzBhOHA4DrQ4E3Dhmk= <nil>
}

func ExampleH1Dir() {
	// In programs: os.DirFS(directory), or the FS of an os.Root.
	unpacked := fstest.MapFS{"terraform-provider-test_v1.2.3": {Data: []byte("a program\n")}}
	h, err := checksum.H1Dir(context.Background(), unpacked)
	fmt.Println(h, err)
	// Output: h1:8QKBrlOi/bB0GM3SkD/pOU5kZIzBhOHA4DrQ4E3Dhmk= <nil>
}
