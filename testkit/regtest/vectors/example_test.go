package vectors_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/testkit/regtest/vectors"
)

// A test of a parser for hostnames runs all cases.
func ExampleFiles() {
	data, err := vectors.Files.ReadFile("hosts.json")
	if err != nil {
		log.Fatal(err)
	}
	var file struct {
		Cases []struct{ Input, Parser, ASCII, Error string }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range file.Cases {
		if c.Parser != "" {
			continue // for other parsers
		}
		host, err := svchost.Parse(c.Input)
		if host.String() != c.ASCII || (err != nil) != (c.Error != "") {
			fmt.Printf("%q: got %s, %v\n", c.Input, host, err)
		}
	}
	fmt.Println("done")
	// Output: done
}
