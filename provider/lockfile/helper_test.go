package lockfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Parts of lock files that many tests use.
var (
	alpha = addrs.MustParseProvider("registry.example.com/acme/alpha")
	beta  = addrs.MustParseProvider("registry.example.com/acme/beta")
	gamma = addrs.MustParseProvider("registry.example.com/acme/gamma")

	v1 = addrs.MustParseVersion("1.0.0")
	v2 = addrs.MustParseVersion("2.0.0-rc.1+meta")

	h1a  = checksum.MustParseHash("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
	zh1  = zh(1)
	zh2  = zh(2)
	zh3  = zh(3)
	new1 = checksum.MustParseHash("h9:of-a-later-scheme")
)

func zh(n int) checksum.Hash { return checksum.MustParseHash(fmt.Sprintf("zh:%064x", n)) }

func constraint(s string) addrs.ProviderConstraint { return addrs.MustParseProviderConstraint(s) }

// report is one that calls the hashes recordable.
func report(hashes ...checksum.Hash) *verify.Report { return &verify.Report{Local: hashes} }

// canonical is a file as the CLI writes it.
var canonical = strings.Join([]string{
	lockfile.HeaderTerraform,
	``,
	`provider "registry.example.com/acme/alpha" {`,
	`  version     = "1.0.0"`,
	`  constraints = ">= 0.9.0, < 2.0.0"`,
	`  hashes = [`,
	`    "` + h1a.String() + `",`,
	`    "` + new1.String() + `",`,
	`    "` + zh1.String() + `",`,
	`  ]`,
	`}`,
	``,
	`provider "registry.example.com/acme/gamma" {`,
	`  version = "2.0.0-rc.1+meta"`,
	`  hashes = [`,
	`    "` + zh2.String() + `",`,
	`  ]`,
	`}`,
	``,
}, "\n")

func parse(t testing.TB, src string) *lockfile.File {
	t.Helper()
	f, err := lockfile.Parse([]byte(src), "test.hcl")
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return f
}

func parseLenient(t testing.TB, src string) *lockfile.File {
	t.Helper()
	f, err := lockfile.ParseLenient([]byte(src), "test.hcl")
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return f
}
