package lockfile_test

import (
	"fmt"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/verify/checksum"
)

// An update tool selects a new version.
func Example() {
	lock, err := lockfile.Parse([]byte(`{"module_lock":1}
{"source":"acme/vpc/aws","constraint":"~> 5.0","version":"5.1.0","hash":"h1:8QKBrlOi/bB0GM3SkD/pOU5kZIzBhOHA4DrQ4E3Dhmk="}
`), lockfile.Name)
	if err != nil {
		panic(err)
	}
	key, err := lockfile.KeyOf("acme/vpc/aws", "~> 5.0")
	if err != nil {
		panic(err)
	}
	locked, _ := lock.Get(key)
	fmt.Println("locked:", locked.Version)

	// The report of module.Download has the version and the hash.
	found := lockfile.Entry{Key: key, Version: addrs.MustParseVersion("5.2.0"), Hash: checksum.MustParseHash("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")}
	fmt.Println(locked.Check(found))
	if err := lock.Set(found); err != nil {
		panic(err)
	}
	fmt.Print(string(lock.Bytes()))
	// Output:
	// locked: 5.1.0
	// module source acme/vpc/aws ~> 5.0 has changed: version 5.1.0, h1:8QKBrlOi/bB0GM3SkD/pOU5kZIzBhOHA4DrQ4E3Dhmk= is locked, version 5.2.0, h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= was found; upgrade it if you expect the change
	// {"module_lock":1}
	// {"source":"acme/vpc/aws","constraint":"~> 5.0","version":"5.2.0","hash":"h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="}
}
