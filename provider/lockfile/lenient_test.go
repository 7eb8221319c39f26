package lockfile_test

import (
	"strings"
	"testing"
)

// hashes puts real hashes in the place of their names.
var hashes = strings.NewReplacer("ZH1", zh1.String(), "ZH2", zh2.String(), "ZH3", zh3.String())

// edited are files that people have written into, with what becomes of them when
// the hash zh:…2 is added to alpha.
var edited = []struct{ name, src, want string }{
	{
		"comments everywhere",
		`// by hand
# pinned
provider /* a */ "registry.example.com/acme/alpha" { # b

  # c
  version = "1.0.0" # d
  constraints = "^1" // cannot be read

  hashes = [ # g
    # one
    "ZH1", # h
    # three
    "ZH3" # i
    # j
  ] # k
  # l
} # m
# n
`,
		`// by hand
# pinned
provider /* a */ "registry.example.com/acme/alpha" { # b

  # c
  version = "1.0.0" # d
  constraints = "^1" // cannot be read

  hashes = [ # g
    # one
    "ZH1", # h
    "ZH2",
    # three
    "ZH3", # i
    # j
  ] # k
  # l
} # m
# n
`,
	},
	{
		"in one line",
		`provider "registry.example.com/acme/alpha" { /* a */ version = /* b */ "1.0.0" } # c`,
		`provider "registry.example.com/acme/alpha" {
  version = "1.0.0"
  hashes = [
    "ZH2",
  ]
} # c`,
	},
	{
		"not canonical",
		`provider "Registry.Example.com/acme/ALPHA" {
version="1"
	constraints = ">=1"
	hashes = ["ZH3", "ZH3"]
}
`,
		`provider "registry.example.com/acme/alpha" {
version="1.0.0"
	constraints = ">= 1.0.0"
	hashes = [
    "ZH2",
    "ZH3",
  ]
}
`,
	},
	{
		"no hashes, CRLF",
		"module \"x\" {\r\n  y {\r\n    z = <<EOT\r\n}\r\nEOT\r\n  }\r\n}\r\nprovider \"registry.example.com/acme/alpha\" {\r\n  version = \"1.0.0\"\r\n}\r\n",
		"module \"x\" {\r\n  y {\r\n    z = <<EOT\r\n}\r\nEOT\r\n  }\r\n}\r\nprovider \"registry.example.com/acme/alpha\" {\r\n  version = \"1.0.0\"\r\n  hashes = [\r\n    \"ZH2\",\r\n  ]\r\n}\r\n",
	},
	{
		"not there",
		"# top\n\nmodule \"x\" {\n}",
		"# top\n\nmodule \"x\" {\n}\n\nprovider \"registry.example.com/acme/alpha\" {\n  version = \"1.0.0\"\n  hashes = [\n    \"ZH2\",\n  ]\n}\n",
	},
	{
		"in front",
		"provider \"registry.example.com/acme/beta\" {\n  version = \"1.0.0\"\n}\n",
		"provider \"registry.example.com/acme/alpha\" {\n  version = \"1.0.0\"\n  hashes = [\n    \"ZH2\",\n  ]\n}\n\nprovider \"registry.example.com/acme/beta\" {\n  version = \"1.0.0\"\n}\n",
	},
}

func TestLenientEdits(t *testing.T) {
	t.Parallel()
	for _, tt := range edited {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := parseLenient(t, hashes.Replace(tt.src))
			e, _ := f.Get(alpha)
			merge(t, f, alpha, v1, e.Constraints, zh2)
			if got := string(f.Bytes()); got != hashes.Replace(tt.want) {
				t.Errorf("got\n%s\nwant\n%s", got, hashes.Replace(tt.want))
			}
		})
	}
}
