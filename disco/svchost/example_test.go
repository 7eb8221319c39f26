package svchost_test

import (
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/disco/svchost"
)

func ExampleParse() {
	h, err := svchost.Parse("Registry.Example.com:443")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h)
	fmt.Println(h == svchost.MustParse("registry.example.com"))
	// Output:
	// registry.example.com
	// true
}

func ExampleParse_error() {
	_, err := svchost.Parse("https://registry.example.com/")
	fmt.Println(err)
	var pe *svchost.ParseError
	if errors.As(err, &pe) {
		fmt.Println(pe.Reason)
	}
	// Output:
	// invalid hostname "https://registry.example.com/": want a hostname such as registry.example.com, not a URL
	// want a hostname such as registry.example.com, not a URL
}

func ExampleFromWire() {
	h, err := svchost.FromWire("xn--bb-fka.example.com:8443")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.Display())
	fmt.Println(h == svchost.MustParse("BÖB.example.com:8443"))
	// Output:
	// böb.example.com:8443
	// true
}

func ExampleFromURL() {
	h, err := svchost.FromURL("https://registry.example.com:8443/v1/modules/")
	fmt.Println(h, err)
	// Output: registry.example.com:8443 <nil>
}

func ExampleHostname_Display() {
	h := svchost.MustParse("BÖB.example.com")
	fmt.Println(h.Display(), h.String())
	// Output: böb.example.com xn--bb-fka.example.com
}
