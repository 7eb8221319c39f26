package workdir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/addrs"
	modulelock "github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/workdir/internal/must"
)

// required is a block of a configuration that requires acme/alpha of the registry.
const requiredAlpha = "terraform {\n  required_providers {\n    alpha = { source = \"HOST/acme/alpha\" }\n  }\n}\n"

// TestReadAsTheCLIs: what both clients accept is accepted with the same result, and what they refuse is refused.
func TestReadAsTheCLIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := func(text string) map[string]string { return map[string]string{"main.tf": text} }
	entries := func(text string) map[string]string {
		return one("terraform {\n  required_providers {\n    " + text + "\n  }\n}\n")
	}
	module := func(version string) map[string]string {
		return one("module \"m\" {\n  source  = \"HOST/acme/network/aws\"\n  version = \"" + version + "\"\n}\n")
	}
	named := func(name, reference string) map[string]string {
		return one("terraform {\n  required_providers {\n    " + name + " = { source = \"HOST/acme/alpha\" }\n  }\n}\nprovider \"" + name + "\" {\n  alias = \"a\"\n}\nresource \"x_y\" \"z\" {\n  provider = " + reference + "\n}\n")
	}
	for name, c := range map[string]tree{
		"import of a resource":      {files: one(requiredAlpha + "resource \"r_x\" \"y\" {\n  provider = alpha\n}\nimport {\n  to = r_x.y\n  id = \"1\"\n}\n")},
		"import into a module":      {files: map[string]string{"main.tf": "module \"m\" {\n  source = \"./m\"\n}\nimport {\n  to = module.m.r_x.y\n  id = \"1\"\n}\n", "m/m.tf": requiredAlpha + "resource \"r_x\" \"y\" {\n  provider = alpha\n}\n"}},
		"import of nothing":         {files: one(requiredAlpha + "import {\n  to = alpha_x.y[\"k\"]\n  id = \"1\"\n}\n")},
		"import, two providers":     {files: one(requiredAlpha + "resource \"r_x\" \"y\" {\n  provider = alpha\n}\nimport {\n  provider = beta\n  to = r_x.y\n  id = \"1\"\n}\n"), refused: "main.tf:9: the import and its resource"},
		"import, provider inside":   {files: one(requiredAlpha + "import {\n  provider = alpha\n  to = module.m.alpha_x.y\n  id = \"1\"\n}\n"), refused: "main.tf:6: an import into a module"},
		"text in tfvars":            {only: "tofu", files: map[string]string{"main.tf": "variable \"v\" {}\nmodule \"m\" {\n  source = \"./${var.v}\"\n}\n", "terraform.tfvars.json": `{"v":"$${m}%{n}"}`, "$${m}%{n}/m.tf": "# text", "${m}/m.tf": "# escaped"}},
		"text in defaults":          {only: "tofu", files: map[string]string{"main.tf.json": `{"variable":{"v":{"default":"$${m}"}},"module":{"m":{"source":"./${var.v}"}}}`, "$${m}/m.tf": "# text", "${m}/m.tf": "# escaped"}},
		"templates in lists":        {only: "tofu", files: map[string]string{"main.tf.json": `{"locals":{"a":[{"${\"k\"}":"${\"m\"}"}]},"module":{"m":{"source":"./${local.a[0].k}"}}}`, "m/m.tf": ""}},
		"empty variable":            {only: "tofu", environ: []string{"TF_VAR_v="}, files: map[string]string{"main.tf": "variable \"v\" {\n  default = \"x\"\n}\nmodule \"m\" {\n  source = \"./m${var.v}\"\n}\n", "m/m.tf": "# empty", "mx/m.tf": "# unset"}},
		"type list":                 {only: "tofu", files: map[string]string{"main.tf": "variable \"v\" {\n  type = list\n  default = [\"m\"]\n}\nvariable \"w\" {\n  type = map\n  default = {}\n}\nmodule \"m\" {\n  source = \"./${var.v[0]}${lookup(var.w, \"a\", \"\")}\"\n}\n", "m/m.tf": ""}},
		"JSON type list":            {only: "tofu", files: map[string]string{"main.tf.json": `{"variable":{"v":{"type":"list","default":["m"]},"w":{"type":"list(object({a=optional(string,\"m\")}))","default":[{}]}},"module":{"m":{"source":"./${var.v[0]}"},"n":{"source":"./${var.w[0].a}"}}}`, "m/m.tf": ""}},
		"quotes in JSON":            {only: "tofu", files: map[string]string{"main.tf.json": `{"variable":{"a":{"default":true}},"module":{"m":{"source":"${var.a ? \"./m\" : \"git@example.com:o/m.git\"}"},"n":{"source":"${\"./it's{\"}"}}}`, "m/m.tf": "", "it's{/m.tf": ""}},
		"provider null":             {files: named("null", "null.a")},
		"provider true":             {files: named("true", "true.a")},
		"provider false":            {files: named("false", "false")},
		"quoted null":               {files: named("null", `"null.a"`)},
		"JSON null":                 {files: map[string]string{"main.tf.json": `{"terraform":{"required_providers":{"null":{"source":"HOST/acme/alpha"}}},"provider":{"null":{"alias":"a"}},"resource":{"x_y":{"z":{"provider":"null.a"}}}}`}},
		"instance of null":          {only: "tofu", files: one("terraform {\n  required_providers {\n    null = { source = \"HOST/acme/alpha\" }\n  }\n}\nprovider \"null\" {\n  alias = \"a\"\n  for_each = toset([\"k\"])\n}\nresource \"x_y\" \"z\" {\n  provider = null.a[\"k\"]\n}\n")},
		"misspelt source":           {files: entries(`alpha = { soruce = "HOST/acme/alpha" }`), refused: `main.tf:3: provider "alpha" has "soruce"`},
		"misspelt version":          {files: entries(`alpha = { source = "HOST/acme/alpha", verison = "1.0.0" }`), refused: `main.tf:3: provider "alpha" has "verison"`},
		"empty source":              {files: entries(`alpha = { source = "" }`), refused: `main.tf:3: provider "alpha"`},
		"two blocks":                {files: map[string]string{"a.tf": requiredAlpha, "b.tf": "terraform {\n  required_providers {\n    beta = { source = \"HOST/acme/beta\" }\n  }\n}\n"}, refused: "b.tf:2: a block required_providers is declared in a.tf:2 already"},
		"two overrides":             {files: map[string]string{"a.tf": requiredAlpha, "a_override.tf": strings.ReplaceAll(requiredAlpha, "alpha\" }", "alpha\", version = \"1.0.0\" }"), "b_override.tf": "terraform {\n  required_providers {\n    beta = { source = \"HOST/acme/beta\" }\n  }\n}\n"}},
		"number as version":         {files: one(requiredAlpha + "provider \"alpha\" {\n  version = 1\n}\n")},
		"number in an entry":        {files: entries(`alpha = { source = "HOST/acme/alpha", version = 1 }`), refused: `main.tf:3: version of provider "alpha": want a string`},
		"constant source":           {files: entries(`alpha = { source = "HOST/acme/${"alpha"}", "version" = "1.${0}" }`)},
		"upper case":                {files: one(requiredAlpha + "resource \"ALPHA_x\" \"y\" {}\n")},
		"upper case entry":          {files: entries(`ALPHA = { source = "HOST/acme/alpha" }`), refused: "must be in lower case"},
		"upper case provider":       {files: one(requiredAlpha + "provider \"Alpha\" {}\n"), refused: "must be in lower case"},
		"upper case reference":      {files: one(requiredAlpha + "resource \"x_y\" \"z\" {\n  provider = Alpha\n}\n"), refused: "main.tf:7: invalid reference"},
		"blank version":             {files: module(" "), refused: "the version constraint is empty"},
		"comma after version":       {files: module("~> 1.0, "), refused: "main.tf:1"},
		"blank requirement":         {files: entries(`alpha = { source = "HOST/acme/alpha", version = " " }`), refused: `main.tf:3: version of provider "alpha": the version constraint is empty`},
		"comma after requirement":   {files: entries(`alpha = { source = "HOST/acme/alpha", version = "~> 1.0, " }`), refused: "main.tf:3"},
		"comma after provider's":    {files: one(requiredAlpha + "provider \"alpha\" {\n  version = \"~> 1.0, \"\n}\n"), refused: "main.tf:7"},
		"override of no resource":   {files: map[string]string{"main.tf": requiredAlpha, "override.tf": "resource \"alpha_x\" \"y\" {}\n"}, refused: "override.tf:1: resource alpha_x y to override"},
		"resource twice":            {files: one(requiredAlpha + "resource \"alpha_x\" \"y\" {}\nresource \"alpha_x\" \"y\" {}\n"), refused: "main.tf:7: resource alpha_x y is declared in main.tf:6 already"},
		"provider twice":            {files: one(requiredAlpha + "provider \"alpha\" {}\nprovider \"alpha\" {}\n"), refused: "main.tf:7: provider alpha is declared in main.tf:6 already"},
		"a provider of tests":       {files: map[string]string{"main.tf": requiredAlpha, "a.tftest.hcl": "provider \"gamma\" {}\nrun \"r\" {}\n"}},
		"a mocked provider":         {files: map[string]string{"main.tf": requiredAlpha, "a.tftest.hcl": "mock_provider \"gamma\" {}\nrun \"r\" {}\n"}},
		"no UTF-8 in a comment":     {files: one("# caf\xe9\n" + requiredAlpha + "/* \xff */")},
		"no UTF-8 in a string":      {files: one(requiredAlpha + "locals {\n  a = \"\xff\"\n}\n"), refused: "main.tf:7: Invalid character encoding"},
		"no UTF-8 in JSON":          {files: map[string]string{"main.tf": requiredAlpha, "a.tf.json": "{\"//\":\"\xff\",\"locals\":{\"a\":\"\xff\"}}"}},
		"no UTF-8 in a test":        {files: map[string]string{"main.tf": requiredAlpha, "a.tftest.hcl": "# \xff\nrun \"r\" {}\n"}},
		"no UTF-8 in tfvars":        {only: "tofu", files: map[string]string{"main.tf": "variable \"v\" {}\nmodule \"m\" {\n  source = \"./${var.v}\"\n}\n", "terraform.tfvars": "# \xff\nv = \"m\"\n", "m/m.tf": ""}},
		"local twice":               {only: "tofu", files: map[string]string{"a.tf": "locals {\n  a = \"./m\"\n}\n", "b.tf": "locals {\n  a = \"./n\"\n}\nmodule \"m\" {\n  source = local.a\n}\n", "m/m.tf": "", "n/n.tf": ""}, refused: "b.tf:2: local a is declared in a.tf:2 already"},
		"variable twice":            {only: "tofu", files: map[string]string{"a.tf": "variable \"a\" {\n  default = \"./m\"\n}\n", "b.tf": "variable \"a\" {\n  default = \"./n\"\n}\nmodule \"m\" {\n  source = var.a\n}\n", "m/m.tf": "", "n/n.tf": ""}, refused: "b.tf:1: variable a is declared in a.tf:1 already"},
		"local overridden":          {only: "tofu", files: map[string]string{"a.tf": "locals {\n  a = \"./m\"\n}\nmodule \"m\" {\n  source = local.a\n}\n", "override.tf": "locals {\n  a = \"./n\"\n}\n", "m/m.tf": "", "n/n.tf": ""}},
		"required_version, a value": {files: one("locals {\n  a = 1\n}\nterraform {\n  required_version = \">= ${1}\"\n}\n")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, w, c)
		})
	}
}

// facts returns what Read finds in a configuration: the providers with constraints and places, and the problems.
func facts(t *testing.T, d *Dir, files map[string]string) (providers []string, m *Module, err error) {
	t.Helper()
	d.Path = t.TempDir()
	write(t, d.Path, files)
	m, err = d.Read(t.Context())
	if m == nil {
		t.Fatalf("Read: %v, want what can be read", err)
	}
	for _, r := range m.Providers {
		providers = append(providers, strings.TrimSpace(fmt.Sprintf("%s:%d %s %s", r.Place.File, r.Place.Line, r.Provider, r.Constraint)))
	}
	return providers, m, err
}

// TestRequirements: the rules for providers follow the version of the CLI. The comments name the sources of rules of
// versions that the tests cannot run.
func TestRequirements(t *testing.T) {
	t.Parallel()
	const tf, tofu = "registry.terraform.io/", "registry.opentofu.org/"
	const target = "resource \"r_x\" \"y\" {\n  provider = mine\n}\nimport {\n  to = r_x.y\n  id = 1\n}\n"
	const inside = "import {\n  to = module.m.r_x.y\n  id = 1\n}\n"
	const tests = "provider \"p\" {}\nmock_provider \"q\" {}\n"
	for name, c := range map[string]struct {
		terraform     string // a version, or "newest"
		version       string // of OpenTofu
		file, text    string
		want, problem string
	}{
		"import":             {"newest", "", "main.tf", target, "main.tf:1 " + tf + "hashicorp/mine", ""},
		"import of OpenTofu": {"", "1.12.6", "main.tf", target, "main.tf:1 " + tofu + "hashicorp/mine, main.tf:4 " + tofu + "hashicorp/r", ""},
		"inside":             {"newest", "", "main.tf", inside, "", ""}, // since 1.12: terraform, internal/configs/config.go, addProviderRequirements
		"inside of OpenTofu": {"", "1.12.6", "main.tf", inside, "main.tf:1 " + tofu + "hashicorp/r", ""},
		"action":             {"newest", "", "main.tf", "action \"r_x\" \"y\" {}\n", "main.tf:1 " + tf + "hashicorp/r", ""}, // since 1.14: the same function
		"action, 1.14 beta":  {"1.14.0-beta1", "", "main.tf", "action \"r_x\" \"y\" {\n  provider = mine.a\n}\n", "main.tf:1 " + tf + "hashicorp/mine", ""},
		"action, 1.13":       {"1.13.9", "", "main.tf", "action \"r_x\" \"y\" {}\n", "", ""},
		"action of OpenTofu": {"", "", "main.tf", "action \"r_x\" \"y\" {}\n", "", ""},
		"tests":              {"1.9.0", "", "a.tftest.hcl", tests, "", ""}, // since 1.9.0: commit 48fc2d3ac7
		"tests, 1.8":         {"1.8.5", "", "a.tftest.hcl", tests, "a.tftest.hcl:1 " + tf + "hashicorp/p, a.tftest.hcl:2 " + tf + "hashicorp/q", ""},
		"tests of OpenTofu":  {"", "", "a.tftest.hcl", tests, "a.tftest.hcl:1 " + tofu + "hashicorp/p", ""},
		"legacy number":      {"newest", "", "main.tf", "terraform {\n  required_providers {\n    aws = 1.5\n  }\n}\n", "main.tf:3 " + tf + "hashicorp/aws 1.5.0", ""},
		"null":               {"newest", "", "main.tf", "resource \"null_resource\" \"a\" {\n  provider = null.west\n}\n", "main.tf:1 " + tf + "hashicorp/null", ""},
		"null, an instance":  {"", "", "main.tf", "resource \"null_resource\" \"a\" {\n  provider = null.a[var.x]\n}\n", "main.tf:1 " + tofu + "hashicorp/null", ""},
		"misspelt":           {"", "", "main.tf", "terraform {\n  required_providers {\n    aws = { soruce = \"acme/aws\" }\n  }\n}\nresource \"aws_x\" \"y\" {}\n", "", "main.tf:3: provider \"aws\" has \"soruce\""},
		"version number":     {"newest", "", "main.tf", "terraform {\n  required_providers {\n    aws = { version = 2 }\n  }\n}\n", "", "main.tf:3: version of provider \"aws\": want a string"},
		"source number":      {"", "", "main.tf", "terraform {\n  required_providers {\n    aws = { source = 2 }\n  }\n}\n", "", "main.tf:3: source of provider \"aws\": want a string"},
		"bad version":        {"", "", "main.tf", "provider \"aws\" {\n  version = \"x\"\n}\n", "main.tf:1 " + tofu + "hashicorp/aws", "main.tf:2: version of provider \"aws\": "},
		// terraform 1.16 (pull request 38894), terraform-registry-address v0.5.0
		"underscore":             {"newest", "", "main.tf", "terraform {\n  required_providers {\n    a = { source = \"x_y/a\" }\n  }\n}\n", "main.tf:3 " + tf + "x_y/a", ""},
		"underscore, 1.15":       {"1.15.9", "", "main.tf", "terraform {\n  required_providers {\n    a = { source = \"x_y/a\" }\n  }\n}\n", "", "in the namespace: the character '_'"},
		"underscore of OpenTofu": {"", "", "main.tf", "terraform {\n  required_providers {\n    a = { source = \"x_y/a\" }\n  }\n}\n", "", "in the namespace: the character '_'"},
		"first use":              {"", "", "main.tf", "data \"a_b\" \"c\" {}\nresource \"a_b\" \"c\" {}\nephemeral \"a_b\" \"c\" {}\n", "main.tf:1 " + tofu + "hashicorp/a", ""},
		"query":                  {"newest", "", "a.tfquery.hcl", "list \"a_b\" \"c\" {}\nprovider \"a\" {}\n", "", ""}, // terraform, internal/configs/parser_file_matcher.go: only with MatchQueryFiles
		"stack":                  {"newest", "", "a.tfcomponent.hcl", "required_providers {\n  a = { source = \"x/a\" }\n}\n", "", ""},
		"state store":            {"newest", "", "main.tf", "terraform {\n  required_providers {\n    a = { source = \"x/a\" }\n  }\n  state_store \"a_b\" {\n    provider \"a\" {}\n  }\n}\n", "main.tf:3 " + tf + "x/a", ""},
	} {
		d := &Dir{Terraform: c.terraform != ""}
		if v := strings.TrimSuffix(c.terraform, "newest") + c.version; v != "" {
			d.Version = addrs.MustParseVersion(v)
		}
		got, _, err := facts(t, d, map[string]string{c.file: c.text})
		if text := strings.Join(got, ", "); text != c.want || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: Read: %q, %v; want %q and the problem %q", name, text, err, c.want, c.problem)
		}
	}
}

// TestVersionOfTheCLI: required_version is compared with the version without its prerelease, and ignored without one.
func TestVersionOfTheCLI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ constraint, version, want string }{
		{`">= 1.12.0"`, "1.13.0-beta1", ""},
		{`">= 1.12.0"`, "1.13.0-dev", ""},
		{`">= 1.13.0"`, "1.13.0-alpha20260801+nightly", ""},
		{`"< 1.13.0"`, "1.13.0-beta1", "main.tf:2: the module needs version"},
		{`local.a`, "", ""},
		{`local.a`, "1.13.0", "main.tf:2: variables are not allowed here"},
		{`" "`, "1.13.0", "main.tf:2: required_version is empty"},
		{`""`, "1.13.0", "main.tf:2: required_version is empty"},
		{`""`, "", ""},
		{`""`, "1.11.0", ""}, // of OpenTofu: no constraint
	} {
		d := &Dir{Terraform: c.version != "1.11.0"}
		if c.version != "" {
			d.Version = addrs.MustParseVersion(c.version)
		}
		_, _, err := facts(t, d, map[string]string{"main.tf": "terraform {\n  required_version = " + c.constraint + "\n}\n"})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("required_version = %s with version %q: %v, want %q", c.constraint, c.version, err, c.want)
		}
	}
}

// TestConstants: sources and versions follow the rules of Terraform's version: terraform 1.15.0 (pull request 38217)
// and 1.15.5 (38632), internal/terraform/node_module_install.go.
func TestConstants(t *testing.T) {
	t.Parallel()
	const declared = "variable \"v\" {\n  default = \"m\"\n  const = true\n}\n"
	call := func(source string) string {
		return "module \"m\" {\n  source = " + source + "\n  v = \"n\"\n}\n"
	}
	for name, c := range map[string]struct{ version, text, problem string }{
		"const":        {"", declared + call(`"./${var.v}"`), ""},
		"1.15":         {"1.15.0", declared + call(`"./${var.v}"`), ""},
		"1.14":         {"1.14.9", declared + call(`"./${var.v}"`), "variables are not allowed here"},
		"not const":    {"", strings.ReplaceAll(declared, "true", "false") + call(`"./${var.v}"`), "const = true"},
		"undeclared":   {"", strings.ReplaceAll(declared, "  const = true\n", "") + call(`"./${var.v}"`), "const = true"},
		"local":        {"", declared + "locals {\n  a = \"./${join(\"\", [var.v])}\"\n}\n" + call("local.a"), ""},
		"bad local":    {"", "locals {\n  a = data.x.y.z\n}\n" + call("local.a"), "data.x is not known"},
		"path":         {"", declared + call(`"${path.module}/${var.v}"`), ""},
		"workspace":    {"", call("terraform.workspace"), "only constant variables"},
		"sensitive":    {"", strings.ReplaceAll(declared, "const", "sensitive = true\n  const") + call(`"./${var.v}"`), "sensitive"},
		"null":         {"", "module \"m\" {\n  source = \"./m\"\n  version = null\n}\n", ""},
		"null, 1.15.5": {"1.15.5", "module \"m\" {\n  source = \"./m\"\n  version = null\n}\n", ""},
		"null, 1.15.4": {"1.15.4", "module \"m\" {\n  source = \"./m\"\n  version = null\n}\n", "invalid module source"},
		"path in version": {"", "module \"m\" {\n  source = \"./m\"\n  version = path.module\n}\n",
			"\"version\" may have only"},
	} {
		d := &Dir{Path: t.TempDir(), Terraform: true}
		if c.version != "" {
			d.Version = addrs.MustParseVersion(c.version)
		}
		write(t, d.Path, map[string]string{"main.tf": c.text, "m/m.tf": "variable \"v\" {\n  default = \"x\"\n  const = true\n}\nmodule \"n\" {\n  source = \"../${\"n\"}\"\n}\n", "n/n.tf": ""})
		if _, err := d.InstallModules(t.Context()); (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: InstallModules: %v, want an error with %q", name, err, c.problem)
		}
	}
}

// TestProblems: a broken file or block does not hide the others, and Prepare refuses it.
func TestProblems(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a.tf": "module \"a\" {\n  source = \"./a\"\n}\nmodule \"b\" {\n  source = \n}\nresource \"x_y\" {}\ndata \"d_e\" \"f\" {}\n",
		"b.tf": "module \"c\" {\n  source = \"./c\"\n}\nmodule \"d\" {}\nterraform {\n  required_providers {\n    e = { source = \"a/b/c/d\" }\n    f = { source = \"acme/f\" }\n  }\n}\n",
		"c.tf": "x = \xff",
		"d.tf": "module \"e\" {\n  source = \"./${var.x}\"\n  version = local.y\n}\n",
	}
	d := &Dir{}
	providers, m, err := facts(t, d, files)
	var calls []string
	for _, c := range m.Calls {
		calls = append(calls, c.Key+" "+c.Source+c.SourceText+c.VersionText)
	}
	if want := []string{"a ./a", "b ", "c ./c", "d ", `e "./${var.x}"local.y`}; !slices.Equal(calls, want) {
		t.Errorf("Read: calls %q, want %q", calls, want)
	}
	if want := []string{"a.tf:8 registry.opentofu.org/hashicorp/d", "b.tf:8 registry.opentofu.org/acme/f"}; !slices.Equal(providers, want) {
		t.Errorf("Read: providers %q, want %q", providers, want)
	}
	problems, _ := errors.AsType[Problems](err)
	var places []string
	for _, p := range problems {
		places = append(places, p.Place.String())
	}
	if want := []string{"a.tf:5", "a.tf:7", "b.tf:4", "b.tf:7", "c.tf:1"}; !slices.Equal(slices.Compact(places), want) {
		t.Errorf("Read: problems at %q (%v), want %q", places, []*ConfigError(problems), want)
	}
	if first, ok := errors.AsType[*ConfigError](err); !ok || first != problems[0] || !strings.Contains(err.Error(), "more problems") {
		t.Errorf("Read: %v, want the first problem and their number", err)
	}
	for name, call := range map[string]func(context.Context) (*Result, error){"Prepare": d.Prepare, "Plan": d.Plan} {
		if _, err := call(t.Context()); !errors.As(err, &problems) {
			t.Errorf("%s: %v, want Problems", name, err)
		}
	}
	many := strings.Repeat("module \"m\" {}\n", maxProblems+2)
	if _, _, err := facts(t, &Dir{}, map[string]string{"main.tf": many}); !errors.As(err, &problems) || len(problems) != maxProblems {
		t.Errorf("Read: %d problems, want at most %d", len(problems), maxProblems)
	}
}

// TestEvaluatedOnDemand: what no source needs is not evaluated, each value is evaluated once, and an error is in its
// block.
func TestEvaluatedOnDemand(t *testing.T) {
	t.Parallel()
	d := &Dir{Path: t.TempDir(), Variables: map[string]string{"v": "a", "broken": "["}}
	write(t, d.Path, map[string]string{"main.tf": `
variable "v" {}
variable "unused" {
  type    = nothing
  default = [for a in [1] : a]
}
variable "broken" {
  type = list(string)
}
locals {
  bad    = uuid()
  unused = file("/etc/passwd")
}
module "a" {
  source = "./${var.v}"
}
module "b" {
  source = local.bad
}
module "c" {
  source = local.bad
}
module "d" {
  source = var.broken[0]
}
`})
	m, err := d.Evaluate(t.Context())
	if err != nil || m.Calls[0].Source != "./a" || m.Calls[0].Err != nil {
		t.Fatalf("Evaluate: %+v, %v; want the value ./a", m, err)
	}
	for i, want := range []string{"", "main.tf:11: this call of the function \"uuid\"", "main.tf:11: this call of the function \"uuid\"", "variable broken:1: the value is not a constant"} {
		if got := m.Calls[i].Err; (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), want) {
			t.Errorf("Evaluate: call %s: %v, want %q", m.Calls[i].Key, got, want)
		}
	}
	if m.Calls[1].Err != m.Calls[2].Err {
		t.Error("Evaluate: two errors of one value, want it to be evaluated once")
	}
	if m, err := d.Read(t.Context()); err != nil || m.Calls[0].Source != "" || m.Calls[1].Err != nil {
		t.Errorf("Read: %+v, %v; want that nothing is evaluated", m, err)
	}
}

// TestSensitiveValues: no error has a part of a sensitive value.
func TestSensitiveValues(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-zz"
	for _, source := range []string{
		"parseint(var.token, 10)", "tonumber(var.token)", "{ a = 1 }[var.token]", "{ for k in [1, 2] : var.token => k }[0]", "var.token",
		"tobool(var.token) ? 1 : 2", "element([], length(var.token))", "format(var.token, 1)", "regex(var.token, \"x\")", "var.token + 1", "var.typed", "\"${var.token}\" + 1", "local.a",
	} {
		d := &Dir{Path: t.TempDir(), Variables: map[string]string{"token": secret, "typed": "[\"" + secret + "\"]"}}
		write(t, d.Path, map[string]string{"main.tf": "variable \"token\" {\n  sensitive = true\n}\nvariable \"typed\" {\n  type = list(number)\n  sensitive = true\n}\nlocals {\n  a = tonumber(var.token)\n}\nmodule \"m\" {\n  source = " + source + "\n}\n"})
		m, err := d.Evaluate(t.Context())
		if err != nil || m.Calls[0].Err == nil || strings.Contains(m.Calls[0].Err.Error(), secret) || strings.Contains(m.Calls[0].Source, secret) {
			t.Errorf("Evaluate with source = %s: %+v, %v; want an error without the value", source, m.Calls[0], err)
		}
	}
}

// TestGeneratedFiles: a generated file of many addresses is read, and the fields of Limits hold at n and n+1.
func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&list, "%q,\n%60s", fmt.Sprintf("10.%d.%d.0/24", i/256, i%256), "")
	}
	text := `{"module":{"m":{"source":"./m","list":[` + list.String() + `"x"]}},"terraform":{"required_providers":{"a":{"source":"x/a"}}}}`
	if len(text) < 3<<20-400_000 {
		t.Fatalf("%d bytes, want about 3 MiB", len(text))
	}
	providers, m, err := facts(t, &Dir{}, map[string]string{"cdk.tf.json": text})
	if err != nil || len(providers) != 1 || len(m.Calls) != 1 {
		t.Errorf("Read: %v, %+v, %v; want one provider and one call", providers, m, err)
	}
	small := map[string]string{"a.tf": "locals {\n  x = 1\n}\n", "b.tf.json": `{"locals":{"x":[1,2]}}`, "c.tf": "module \"m\" {\n  source = \"./m\"\n}\n", "m/m.tf": "#"}
	size := len(small["a.tf"]) + len(small["b.tf.json"]) + len(small["c.tf"])
	for name, c := range map[string]struct {
		n      int
		limits func(n int) Limits
		want   string
	}{
		"module": {size, func(n int) Limits { return Limits{Module: n} }, "Limits.Module"},
		"words":  {3*fileWords + 9 + 13 + 16, func(n int) Limits { return Limits{Words: n} }, "Limits.Words"},
		"files":  {size + 1, func(n int) Limits { return Limits{Files: n} }, "Limits.Files"},
	} {
		for less, want := range []string{"", c.want} {
			d := &Dir{Path: t.TempDir(), Limits: c.limits(c.n - less)}
			write(t, d.Path, small)
			if _, err := d.InstallModules(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, limit %d: %v, want an error with %q", name, c.n-less, err, want)
			}
		}
	}
}

// TestWordsOfAllModules: all modules have four times the words of one, and those that are parsed again have as many as
// one, with their bytes.
func TestWordsOfAllModules(t *testing.T) {
	t.Parallel()
	const n = 200
	root := ""
	for i := range 4 {
		root += fmt.Sprintf("module \"m%d\" {\n  source = \"./m%d\"\n}\n", i, i)
	}
	for more, want := range []string{"", "m3/m.tf: the files of all modules have more than four times"} {
		files := map[string]string{"main.tf": root}
		for i := range 4 {
			files[fmt.Sprintf("m%d/m.tf", i)] = strings.Repeat("\n", n-fileWords)
		}
		files["m3/m.tf"] = strings.Repeat("\n", n-2*fileWords-count([]byte(root)).words+more)
		d := &Dir{Path: t.TempDir(), Limits: Limits{Words: n}}
		write(t, d.Path, files)
		// Modules are read in any order.
		if _, err := d.Plan(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want[7:]) {
			t.Errorf("%d more: %v, want an error with %q", more, err, want[7:])
		}
	}
	again := "locals {\n  m = \"./m\"\n  x = \"" + strings.Repeat("x", 160) + "\"\n}\nmodule \"m\" {\n  source = local.m\n}\n"
	for less, want := range []string{"", "main.tf: the files of modules with expressions have more words"} {
		d := &Dir{Path: t.TempDir(), Limits: Limits{Words: fileWords + count([]byte(again)).words + len(again)/16 - less}}
		write(t, d.Path, map[string]string{"main.tf": again, "m/m.tf": ""})
		if _, err := d.Plan(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("parsed again, %d less: %v, want an error with %q", less, err, want)
		}
	}
}

// TestManyCalls: many calls of a directory share what was read, and calls are counted before they are followed.
func TestManyCalls(t *testing.T) {
	const calls, resources = 3_000, 2_000
	var root, module strings.Builder
	for i := range calls {
		fmt.Fprintf(&root, "module \"m%d\" {\n  source = \"./m\"\n}\n", i)
	}
	for i := range resources {
		fmt.Fprintf(&module, "resource \"p%d_x\" \"r\" {}\n", i)
	}
	d := &Dir{Path: t.TempDir()}
	write(t, d.Path, map[string]string{"main.tf": root.String(), "m/m.tf": module.String()})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	result, err := d.modules(t.Context(), true, false)
	runtime.ReadMemStats(&after)
	if err != nil || len(result.Modules) != calls+1 || len(result.Required()) != resources {
		t.Fatalf("Plan: %v, want %d modules and %d providers", err, calls, resources)
	}
	each := (after.TotalAlloc - before.TotalAlloc) / calls
	t.Logf("%d bytes allocated for each module", each)
	if each > 40_000 {
		t.Errorf("%d bytes for each of %d modules, want at most 40,000: requirements are shared", each, calls)
	}
	write(t, d.Path, map[string]string{"m/m.tf": strings.ReplaceAll(root.String(), "./m", "./n"), "m/n/n.tf": ""})
	if _, err := d.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 10000 modules") {
		t.Errorf("%d calls of a module with as many: %v, want an error with the limit of modules", calls, err)
	}
}

// TestManyResources: a module with many files of many resources is refused early, with little memory.
func TestManyResources(t *testing.T) {
	d := &Dir{Path: t.TempDir()}
	var text strings.Builder
	for i := range 18_000 {
		fmt.Fprintf(&text, "resource \"aws_x\" \"r%d\" {}\n", i)
	}
	for i := range 60 {
		write(t, d.Path, map[string]string{fmt.Sprintf("f%d.tf", i): strings.ReplaceAll(text.String(), "\"r", fmt.Sprintf("\"f%d_", i))})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := d.Read(t.Context())
	runtime.ReadMemStats(&after)
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || !strings.Contains(err.Error(), "Limits.") || mib > 900 {
		t.Errorf("Read: %v and %d MiB, want a limit of the module and at most 900 MiB", err, mib)
	}
}

// TestLinks: a path has at most 255 links, all paths have a limit of bytes, and none is followed longer than the context.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, os.MkdirAll(filepath.Join(dir, "d"), 0o755))
	for i := range maxLinks + 1 {
		target := "d"
		if i > 0 {
			target = fmt.Sprintf("d/../l%d", i)
		}
		if err := symlink(target, filepath.Join(dir, fmt.Sprintf("l%d", i+1))); err != nil {
			t.Skipf("skipped: this link cannot be made here: %v", err)
		}
	}
	must.Do(t, symlink("loop", filepath.Join(dir, "loop")))
	must.Do(t, symlink(dir, filepath.Join(dir, "d/absolute")))
	ended, stop := context.WithCancel(t.Context())
	stop()
	last := int64(len(filepath.Join(dir, "d")))
	for name, c := range map[string]struct {
		ctx        context.Context
		name, want string
		inside     bool
		paths      int64 // bytes of earlier paths
		refused    string
	}{
		"links":          {name: fmt.Sprintf("l%d", maxLinks), want: "d"},
		"too many links": {name: fmt.Sprintf("l%d", maxLinks+1), refused: "too many links"},
		"a loop":         {name: "loop", refused: "too many links"},
		"bytes":          {name: "d", paths: maxPaths - last, want: "d"},
		"too many bytes": {name: "d", paths: maxPaths - last + 1, refused: "too many links"},
		"inside":         {name: "l2", inside: true, want: "d"},
		"outside":        {name: "d/../..", inside: true, refused: errOutside.Error()},
		"absolute":       {name: "d/absolute/l1", want: filepath.Join(dir, "d")},
		"not inside":     {name: "d/absolute/l1", inside: true, refused: errOutside.Error()},
		"ended":          {ctx: ended, name: "l3", refused: context.Canceled.Error()},
	} {
		w := &walk{}
		w.paths.Store(c.paths)
		to, err := w.resolve(cmp.Or(c.ctx, t.Context()), dir, filepath.FromSlash(c.name), c.inside)
		if to != c.want || (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: resolve %s: %q, %v; want %q and the error %q", name, c.name, to, err, c.want, c.refused)
		}
	}
}

// ends is a context that ends after some looks at it.
type ends struct {
	context.Context
	looks atomic.Int64
}

func (c *ends) Err() error {
	if c.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestContext: whenever the context ends, reading and evaluating end at the next step: of each goroutine, which a module
// is. A step is a file, a link, or what is charged to the budget.
func TestContext(t *testing.T) {
	t.Parallel()
	const modules = 8
	files := map[string]string{
		"main.tf":          "locals {\n  a = \"" + strings.Repeat("${1}", 100) + "\"\n}\n",
		"a.tf.json":        `{"variable":{"v":{"type":"list(string)"}},"locals":{"b":["${local.a}","x"]},"terraform":{"required_providers":{"p":{"source":"a/b","version":"1.2"}}}}`,
		"terraform.tfvars": "v = [\"m\"]\n", "override.tf": "locals {\n  c = format(\"%s\", local.b[0])\n}\n",
		"a.tftest.hcl": "run \"r\" {\n  module {\n    source = \"./${\"m\"}\"\n  }\n}\n",
		"m/m.tf":       "variable \"v\" {\n  default = \"\"\n}\nmodule \"n\" {\n  source = var.v == join(\"-\", [\"x\"]) ? \"./n\" : \"./n\"\n}\n", "m/n/n.tf": "",
	}
	for i := range modules {
		files["main.tf"] += fmt.Sprintf("module \"m%d\" {\n  source = \"./${var.v[0]}/../m\"\n  v = local.c\n}\n", i)
	}
	d := &Dir{Path: t.TempDir()}
	write(t, d.Path, files)
	visit := func(looks int64) (left int64, err error) {
		ctx := &ends{Context: t.Context()}
		ctx.looks.Store(looks)
		w := must.Get(d.walk(true, true))(t)
		w.lock, w.locked, w.group = &modulelock.File{}, map[modulelock.Key]bool{}, &errgroup.Group{}
		w.group.Go(func() error { return w.visit(ctx, w.top()) })
		err = w.group.Wait()
		return ctx.looks.Load(), err
	}
	const most = 1 << 20
	left, err := visit(most)
	all := most - left
	if err != nil || all < 400 {
		t.Fatalf("visit: %d looks at the context, %v; want at least 400", all, err)
	}
	for looks := int64(0); looks < all; looks += all / 100 {
		if left, err := visit(looks); !errors.Is(err, context.Canceled) || left < -4*modules {
			t.Fatalf("visit with a context that ends at look %d of %d: %v after %d more, want context.Canceled after at most %d", looks, all, err, -left, 4*modules)
		}
	}
}
