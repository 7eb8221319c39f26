package module_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/terraformtest"
	"github.com/tofureg/tofureg/module"
)

// calls returns a configuration with a module block for each source.
func calls(sources []string) string {
	var b strings.Builder
	for i, source := range sources {
		fmt.Fprintf(&b, "module \"m%d\" {\n  source = %q\n}\n", i, source)
	}
	return b.String()
}

// TestAddressAsTheClients checks that errors suggest "./" exactly where the CLI does.
func TestAddressAsTheClients(t *testing.T) {
	t.Parallel()
	sources := []string{
		"vpc", "modules/vpc", "a/b/c/d/e", ".", "..", ".hidden/vpc", "~/vpc", "hashicorp/consul/AWS", "localhost/acme/vpc/aws",
		"GitHub.com/acme/vpc/aws", "gitlab.com/acme/vpc", "hashicorp/consul/aws//../x", "https://example.com/x.zip//../x", "https:vpc.zip",
	}
	for _, a := range addresses {
		if a.registry+a.location != "" && !strings.HasPrefix(a.text, "bitbucket") {
			sources = append(sources, a.text)
		}
	}
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := terraformtest.New(t, program)
		p.Write(t, "main.tf", calls(sources))
		// Some sources are invalid, so the CLI fetches none.
		said, err := p.Try(t, "get", "-no-color")
		if err == nil {
			t.Fatal("all sources are accepted")
		}
		said = strings.Join(strings.Fields(said), " ") // lines are broken to fit the screen
		for _, source := range sources {
			hints := strings.Contains(said, fmt.Sprintf("path relative to the current module, use %q instead", "./"+source))
			e, refused := errors.AsType[*addrs.ParseError](parseError(source))
			if suggests := refused && strings.HasPrefix(e.Suggestion, "."); hints != suggests {
				t.Errorf("%s: the client hints: %v; here: %v", source, hints, e)
			}
		}
	})
}

func parseError(source string) error {
	_, err := module.ParseAddress(source)
	return err
}

// TestPathAsTheClients compares paths with the paths in modules.json of the CLI.
func TestPathAsTheClients(t *testing.T) {
	t.Parallel()
	sources := []string{"./a", "./a//b/", `.\a\b`, "./a/../a/./b", "../beside", "./a/../../beside/"}
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := terraformtest.New(t, program)
		write(t, p.Dir, files{"root/a/b/x.tf": "", "root/a/x.tf": "", "beside/x.tf": "", "root/main.tf": calls(sources)})
		p.Run(t, "-chdir="+filepath.Join(p.Dir, "root"), "get")
		data, err := os.ReadFile(filepath.Join(p.Dir, "root", ".terraform", "modules", "modules.json"))
		must(t, err)
		var noted struct {
			Modules []struct{ Key, Source string }
		}
		must(t, json.Unmarshal(data, &noted))
		as := map[string]string{}
		for _, m := range noted.Modules {
			as[m.Key] = m.Source
		}
		for i, source := range sources {
			got, err := module.ParseAddress(source)
			if want := as[fmt.Sprintf("m%d", i)]; err != nil || got.Path != want || want == "" {
				t.Errorf("%s: %q, %v; the client notes %q", source, got.Path, err, want)
			}
		}
	})
}
