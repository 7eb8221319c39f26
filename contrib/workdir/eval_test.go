package workdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/internal/terraformtest"
)

// An expressionCase is an expression and what becomes of it, as testdata/expressions/cases.txt explains.
type expressionCase struct{ key, text, class, want string }

func expressionCases(t *testing.T) (all []expressionCase) {
	t.Helper()
	for i, line := range strings.Split(read(t, ".", "testdata/expressions/cases.txt"), "\n") {
		at := strings.LastIndex(line, "\t")
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		c := expressionCase{key: fmt.Sprintf("line%d", i+1), text: line[:at], class: "same", want: line[at+1:]}
		for _, class := range []string{"refused", "accepted ", "stricter: ", "not evaluated: "} {
			if want, ok := strings.CutPrefix(c.want, class); ok {
				c.class, c.want = strings.Trim(class, " :"), want
			}
		}
		all = append(all, c)
	}
	return all
}

// files returns a file with a module block for each case.
func expressionFiles(t *testing.T, cases []expressionCase, names bool) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"main.tf", "terraform.tfvars"} {
		files[name] = read(t, ".", "testdata/expressions/"+name)
	}
	for _, c := range cases {
		if names {
			files[c.key+".tf"] = fmt.Sprintf("locals {\n  %[1]s = %[2]s\n}\nmodule %[1]q {\n  source = \"./v/${local.%[1]s}\"\n}\n", c.key, c.text)
		} else {
			files[c.key+".tf"] = fmt.Sprintf("module %[1]q {\n  source = \"./v/${%[2]s}\"\n}\n", c.key, c.text)
		}
		if c.class != "refused" {
			files["v/"+c.want+"/x.tf"] = ""
		}
	}
	return files
}

// evaluated returns the calls of a directory by key.
func evaluated(t *testing.T, d *Dir) map[string]Call {
	t.Helper()
	m, err := d.Evaluate(t.Context())
	if err != nil {
		t.Fatalf("Evaluate: %v %v", err, err.(interface{ Unwrap() []error }).Unwrap())
	}
	calls := map[string]Call{}
	for _, c := range m.Calls {
		calls[c.Key] = c
	}
	return calls
}

// sources runs init of a client, which must succeed, and returns the sources in its manifest.
func sources(t *testing.T, p *terraformtest.Project) map[string]string {
	t.Helper()
	p.Run(t, "init", "-no-color", "-input=false", "-backend=false")
	var manifest struct {
		Modules []struct{ Key, Source string }
	}
	must.Do(t, json.Unmarshal([]byte(p.Read(t, modulesJSON)), &manifest))
	all := map[string]string{}
	for _, m := range manifest.Modules {
		all[m.Key] = m.Source
	}
	return all
}

// named matches an expression with a variable or local value.
var named = regexp.MustCompile(`(var|local)[.]`)

// TestExpressions: an expression has the value that it has in the clients, or they refuse it too; what they evaluate
// and this package does not is an error that says so.
func TestExpressions(t *testing.T) {
	t.Parallel()
	cases := expressionCases(t)
	if len(cases) < 100 {
		t.Fatalf("%d cases, want at least 100", len(cases))
	}
	d := &Dir{Path: t.TempDir()}
	write(t, d.Path, expressionFiles(t, cases, true))
	calls := evaluated(t, d)
	var good, bad []expressionCase
	for _, c := range cases {
		got := calls[c.key]
		switch c.class {
		case "same", "accepted":
			if got.Err != nil || got.Source != "./v/"+c.want {
				t.Errorf("cases.txt:%s: %s: %q, %v; want %q", c.key, c.text, got.Source, got.Err, c.want)
			}
		case "refused", "stricter":
			if got.Err == nil || strings.Contains(got.Err.Error(), "is not evaluated here") && !strings.ContainsAny(c.text, "(") {
				t.Errorf("cases.txt:%s: %s: %q, %v; want an error", c.key, c.text, got.Source, got.Err)
			}
		case "not evaluated":
			if got.Err == nil || !strings.Contains(got.Err.Error(), "is not evaluated here: write the result as a literal") {
				t.Errorf("cases.txt:%s: %s: %q, %v; want that it is not evaluated", c.key, c.text, got.Source, got.Err)
			}
		}
		if e, ok := errors.AsType[*ConfigError](got.Err); got.Err != nil && (!ok || e.Place.Line == 0 || strings.Contains(e.Text, "hidden")) {
			t.Errorf("cases.txt:%s: %s: %#v, want a ConfigError with a line and without a value", c.key, c.text, got.Err)
		}
		if c.class == "refused" || c.class == "accepted" {
			bad = append(bad, c)
		} else {
			good = append(good, c)
		}
	}
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := terraformtest.New(t, program)
		terraform := p.Name() == "terraform"
		good, bad := good, bad
		if terraform { // which evaluates constants
			d := &Dir{Path: t.TempDir(), Terraform: true, Version: addrs.MustParseVersion("1.11.4")}
			write(t, d.Path, expressionFiles(t, cases, false))
			calls := evaluated(t, d)
			good, bad = nil, nil
			for _, c := range cases {
				if got := calls[c.key]; c.class == "accepted" || c.class == "stricter" || named.MatchString(c.text) {
					continue
				} else if got.Err == nil {
					good = append(good, c)
				} else if got.Err != nil && !strings.Contains(got.Err.Error(), "is not evaluated here") {
					bad = append(bad, c)
				}
			}
		}
		if len(good) < 30 || len(bad) < 30 {
			t.Errorf("%d cases that are evaluated and %d that are refused, want at least 30 of both", len(good), len(bad))
		}
		write(t, p.Dir, expressionFiles(t, good, !terraform))
		found := sources(t, p)
		for _, c := range good {
			if want := "./" + path.Join("v", c.want); found[c.key] != want {
				t.Errorf("cases.txt:%s: %s: %s has %q, want %q", c.key, c.text, p.Name(), found[c.key], want)
			}
		}
		p = terraformtest.New(t, program)
		write(t, p.Dir, expressionFiles(t, bad, !terraform))
		out, err := p.Try(t, "init", "-no-color", "-input=false", "-backend=false")
		for _, c := range bad {
			if err == nil || !strings.Contains(string(out), c.key+".tf line ") {
				t.Errorf("cases.txt:%s: %s: %s accepts it", c.key, c.text, p.Name())
			}
		}
	})
}
