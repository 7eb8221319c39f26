package regcheck_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/testkit/regcheck"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// exemplary is a registry at which all checks succeed, and what they look for.
func exemplary() (*regtest.Registry, regcheck.Options) {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.0.0", Platforms: []string{"linux_amd64"}, PackageHashes: true})
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.1.0", Platforms: []string{"linux_amd64"}, PackageHashes: true})
	reg.AddModule(regtest.Module{Address: "acme/network/aws"})
	reg.Require("secret", regtest.Discovery|regtest.Metadata|regtest.ModuleVersions|regtest.ModuleLocation)
	return reg, regcheck.Options{
		Client: reg.Client(), Token: "secret",
		Provider: "acme/alpha", Module: "acme/network/aws", Mirror: reg.MirrorURL(),
	}
}

const exemplaryURL = "https://registry.example.com"

// failed returns the names of the checks that have failed, each once.
func failed(findings []regcheck.Finding) []string {
	var names []string
	for _, f := range findings {
		if f.Level == regcheck.Failed && !slices.Contains(names, f.Check) {
			names = append(names, f.Check)
		}
	}
	return names
}

func TestExamineGood(t *testing.T) {
	t.Parallel()
	reg, o := exemplary()
	if found := regcheck.Examine(t.Context(), exemplaryURL, o); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	for _, q := range reg.Requests() {
		if q.Kind&(regtest.Sums|regtest.Signature|regtest.Archive) != 0 && q.Authorization != "" {
			t.Errorf("%s has got the token", q)
		}
	}
	o.Version, o.Platform, o.ModuleVersion = "1.1.0", "linux_amd64", "1.0.0"
	if found := regcheck.Examine(t.Context(), exemplaryURL+"/", o); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	for _, o := range []regcheck.Options{{}, {Mirror: o.Mirror, MirrorProvider: "registry.example.com/acme/alpha"}} {
		o.Client, o.Token = reg.Client(), "secret"
		if found := regcheck.Examine(t.Context(), exemplaryURL, o); len(found) != 0 {
			t.Errorf("discovery, mirror %q: found %v", o.Mirror, found)
		}
	}
}

// edit is a fault that changes a document.
func edit(kind regtest.Kind, change func(doc map[string]any)) regtest.Fault {
	return regtest.Fault{Kind: kind, Edit: change}
}

func set(kind regtest.Kind, name string, value any) regtest.Fault {
	return edit(kind, func(doc map[string]any) { doc[name] = value })
}

// own is what a package document states in packages for the platform that is asked for.
func own(doc map[string]any) map[string]any {
	return doc["packages"].(map[string]any)["linux_amd64"].(map[string]any)
}

func setPackage(name string, value any) regtest.Fault {
	return edit(regtest.Package, func(doc map[string]any) { own(doc)[name] = value })
}

const emptyH1 = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

// TestExamine: each check catches what it is for, and no other check does.
func TestExamine(t *testing.T) {
	t.Parallel()
	const missing = 404
	const other, another = "1.0.0/terraform-provider-alpha_1.0.0", "1.1.0/terraform-provider-alpha_1.1.0"
	for name, test := range map[string]struct {
		fault regtest.Fault
		by    string // the check that fails; empty: none, there is advice
		want  string // in the text of it
	}{
		"no discovery document":           {regtest.Fault{Kind: regtest.Discovery, Status: missing}, "discovery", "status 404"},
		"discovery is HTML":               {regtest.Fault{Kind: regtest.Discovery, Raw: []byte("<html>")}, "discovery", "not a JSON object"},
		"discovery has two documents":     {regtest.Fault{Kind: regtest.Discovery, Raw: []byte("{}{}")}, "discovery", "invalid character"},
		"discovery has no media type":     {regtest.Fault{Kind: regtest.Discovery, Header: http.Header{"Content-Type": nil}}, "discovery", "media type"},
		"discovery is too large":          {regtest.Fault{Kind: regtest.Discovery, PadTo: 1<<20 + 1}, "discovery", "more than 1048576 bytes"},
		"discovery redirects without end": {regtest.Fault{Kind: regtest.Discovery, Hops: -1}, "discovery", "redirects"},
		"discovery redirects to http":     {regtest.Fault{Kind: regtest.Discovery, Redirect: "http://registry.example.com"}, "discovery", "not an https URL"},
		"no connection":                   {regtest.Fault{Kind: regtest.Discovery, Drop: true}, "discovery", ""},
		"a service is missing":            {edit(regtest.Discovery, func(doc map[string]any) { delete(doc, "modules.v1") }), "discovery", "no service modules.v1"},
		"a service is an object":          {set(regtest.Discovery, "modules.v1", map[string]any{}), "discovery", "not a string"},
		"a service is http":               {set(regtest.Discovery, "modules.v1", "http://registry.example.com/v1/modules/"), "discovery", "not an https URL"},
		"a service has a user":            {set(regtest.Discovery, "modules.v1", "https://u:p@registry.example.com/v1/modules/"), "discovery", "user name"},
		"discovery is not UTF-8":          {regtest.Fault{Kind: regtest.Discovery, Raw: []byte("{\"a\":\"\xff\"}")}, "discovery", "invalid UTF-8"},
		"no slash, for modules":           {set(regtest.Discovery, "modules.v1", "/v1/modules"), "", "does not end with a slash"},
		"no slash":                        {set(regtest.Discovery, "providers.v1", "/v1/providers"), "service URLs", "does not end with a slash"},

		"a bomb":                   {regtest.Fault{Kind: regtest.Versions, Path: "/alpha/", PadTo: 16<<20 + 1, Gzip: true}, "provider versions", "more than 16777216 bytes"},
		"a list that is an object": {set(regtest.Versions, "versions", map[string]any{}), "provider versions", "the value of versions is of type object, want array"},
		"an invalid version":       {regtest.Fault{Kind: regtest.Versions, Path: "/alpha/", Raw: []byte(`{"versions":[{"version":"1.0.0"},{"version":"v2"}]}`)}, "provider versions", "v2"},
		"a version twice":          {regtest.Fault{Kind: regtest.Versions, Path: "/alpha/", Raw: []byte(`{"versions":[{"version":"1.0.0"},{"version":"1.0"}]}`)}, "provider versions", "twice"},
		"no versions":              {regtest.Fault{Kind: regtest.Versions, Path: "/alpha/", Raw: []byte(`{"versions":[]}`)}, "provider versions", "the list of 0"},
		"an empty protocol":        {regtest.Fault{Kind: regtest.Versions, Path: "/alpha/", Raw: []byte(`{"versions":[{"version":"1.0.0","protocols":[""]}]}`)}, "provider versions", "plugin protocol"},
		"an invalid platform":      {regtest.Fault{Kind: regtest.Versions, Path: "/alpha/", Raw: []byte(`{"versions":[{"version":"1.0.0","platforms":[{"os":"linux"}]}]}`)}, "provider versions", "platform"},
		"no package document":      {regtest.Fault{Kind: regtest.Package, Path: "/1.0.0/", Status: missing}, "provider package", "status 404"},
		"another platform":         {set(regtest.Package, "arch", "riscv64"), "provider package", "want linux_amd64"},
		"a file name with a path":  {set(regtest.Package, "filename", "../x.zip"), "provider package", "invalid filename"},
		"no shasum":                {set(regtest.Package, "shasum", ""), "provider package", "SHA-256"},
		"no download_url":          {set(regtest.Package, "download_url", ""), "provider package", "download_url is missing"},
		"sums over http":           {set(regtest.Package, "shasums_url", "http://registry.example.com/sums"), "provider package", "shasums_url"},
		"an archive over ftp":      {set(regtest.Package, "download_url", "ftp://registry.example.com/a.zip"), "provider package", "not an https URL"},

		"no keys":                   {set(regtest.Package, "signing_keys", nil), "provider package", "no signing keys"},
		"no protocols":              {set(regtest.Package, "protocols", []string{}), "", "protocols is missing or empty"},
		"an invalid protocol":       {set(regtest.Package, "protocols", []string{""}), "provider package", "not a plugin protocol"},
		"packages of others":        {set(regtest.Package, "packages", map[string]any{"darwin_arm64": map[string]any{"package_size": 1}}), "provider package", "packages does not have linux_amd64"},
		"no size":                   {setPackage("package_size", 0), "provider package", "package_size is 0"},
		"a size with a fraction":    {setPackage("package_size", 1.5), "provider package", "want number without a fraction"},
		"no zh":                     {setPackage("hashes", []string{emptyH1}), "provider package", "no zh hash"},
		"a zh of something else":    {setPackage("hashes", []string{"zh:" + strings.Repeat("0", 64)}), "provider package", "is not the shasum"},
		"a zh in other letters":     {edit(regtest.Package, func(doc map[string]any) { doc["shasum"] = strings.ToUpper(doc["shasum"].(string)) }), "provider package", "is not the shasum"},
		"an invalid hash":           {setPackage("hashes", []string{"x"}), "provider package", "packages: linux_amd64: hash"},
		"a hash without a value":    {edit(regtest.Package, func(doc map[string]any) { own(doc)["hashes"] = append(own(doc)["hashes"].([]any), "h1:") }), "", "hash has no value"},
		"a package for no platform": {edit(regtest.Package, func(doc map[string]any) { doc["packages"].(map[string]any)["linux"] = nil }), "provider package", "platform"},
		"another package's hash": {edit(regtest.Package, func(doc map[string]any) {
			doc["packages"].(map[string]any)["linux_arm"] = map[string]any{"hashes": []string{"x"}}
		}), "provider package", "packages: linux_arm: hash"},
		"other sums":                  {regtest.Fault{Kind: regtest.Sums, Path: other, Instead: another}, "sums", "does not list"},
		"invalid sums":                {regtest.Fault{Kind: regtest.Sums, Raw: []byte("<html>")}, "sums", "SHA256SUMS"},
		"sums with a line of spaces":  {regtest.Fault{Kind: regtest.Sums, PadTo: 5000}, "sums", "is blank, where clients crash"},
		"another shasum":              {edit(regtest.Package, func(doc map[string]any) { delete(doc, "packages"); doc["shasum"] = strings.Repeat("0", 64) }), "sums", "not the shasum"},
		"a damaged signature":         {regtest.Fault{Kind: regtest.Signature, Corrupt: true}, "signature", "signature"},
		"another signature":           {regtest.Fault{Kind: regtest.Signature, Path: other, Instead: another}, "signature", "signature"},
		"an invalid key":              {set(regtest.Package, "signing_keys", map[string]any{"gpg_public_keys": []map[string]any{{"ascii_armor": "x"}}}), "signature", "key"},
		"another size":                {setPackage("package_size", 1), "archive", "package_size"},
		"another h1":                  {edit(regtest.Package, func(doc map[string]any) { own(doc)["hashes"].([]any)[0] = emptyH1 }), "archive", "does not have the hash"},
		"a damaged archive":           {regtest.Fault{Kind: regtest.Archive, Path: "/releases/", Corrupt: true}, "archive", ""},
		"half an archive":             {regtest.Fault{Kind: regtest.Archive, Path: "/releases/", Break: "cut", After: 50}, "archive", "EOF"},
		"no ranges":                   {regtest.Fault{Kind: regtest.Archive, Path: "/releases/", Part: "whole"}, "", "want 206"},
		"no entity tag":               {regtest.Fault{Kind: regtest.Archive, Path: "/releases/", Header: http.Header{"Etag": nil}}, "", "entity tag"},
		"500 for an unknown provider": {regtest.Fault{Kind: regtest.Versions, Path: "regcheck-unknown", Status: 500}, "unknown provider", "status 500, want 404"},
		"all versions are there":      {regtest.Fault{Kind: regtest.Package, Path: "0.0.0-regcheck", Instead: "1.0.0"}, "unknown provider", "status 200, want 404"},
		"package document as text":    {regtest.Fault{Kind: regtest.Package, Header: http.Header{"Content-Type": {"text/plain"}}}, "", "media type"},

		"no module in the list":        {regtest.Fault{Kind: regtest.ModuleVersions, Path: "/network/", Raw: []byte(`{"modules":[]}`)}, "module versions", "no module"},
		"an invalid module version":    {regtest.Fault{Kind: regtest.ModuleVersions, Path: "/network/", Raw: []byte(`{"modules":[{"versions":[{"version":"1.0.0"},{"version":"main"}]}]}`)}, "module versions", "main"},
		"a module version twice":       {regtest.Fault{Kind: regtest.ModuleVersions, Path: "/network/", Raw: []byte(`{"modules":[{"versions":[{"version":"1.0.0"},{"version":"v1.0.0"}]}]}`)}, "module versions", "twice"},
		"no location":                  {regtest.Fault{Kind: regtest.ModuleLocation, Header: http.Header{"X-Terraform-Get": nil}}, "module location", "names no location"},
		"an address as location":       {regtest.Fault{Kind: regtest.ModuleLocation, Header: http.Header{"X-Terraform-Get": {"acme/other/aws"}}}, "module location", "unsupported location"},
		"a file as location":           {regtest.Fault{Kind: regtest.ModuleLocation, Header: http.Header{"X-Terraform-Get": {"file:///etc"}}}, "module location", "machine of the client"},
		"http as location":             {regtest.Fault{Kind: regtest.ModuleLocation, Header: http.Header{"X-Terraform-Get": {"http://x.example/a.zip"}}}, "module location", "not an https URL"},
		"a location like a command":    {regtest.Fault{Kind: regtest.ModuleLocation, Header: http.Header{"X-Terraform-Get": {"https://x.example/\x1b[31m"}}}, "module location", "control character"},
		"a location that is not a URL": {regtest.Fault{Kind: regtest.ModuleLocation, Header: http.Header{"X-Terraform-Get": {"https://x.example/%zz"}}}, "module location", "not a URL"},
		"its own package over http":    {regtest.Fault{Kind: regtest.ModuleLocation, Status: 200, Raw: []byte(`{"location":"http://x.example/a.zip","use_registry_credentials":true}`)}, "module location", "not an https URL"},
		"its own package in a part":    {regtest.Fault{Kind: regtest.ModuleLocation, Status: 200, Raw: []byte(`{"location":"https://x.example/a.zip#x","use_registry_credentials":true}`)}, "module location", "has a fragment"},
		"location with an empty body":  {regtest.Fault{Kind: regtest.ModuleLocation, Status: 200, Raw: []byte{}, Header: http.Header{"X-Terraform-Get": {"github.com/acme/network"}}}, "", "status 200 with an empty body"},
		"no module package":            {regtest.Fault{Kind: regtest.ModulePackage, Status: missing}, "module package", "status 404"},
		"an invalid module package":    {regtest.Fault{Kind: regtest.ModulePackage, Raw: []byte("<html>login</html>")}, "module package", "neither an archive"},
		"200 for an unknown module":    {regtest.Fault{Kind: regtest.ModuleVersions, Path: "regcheck-unknown", Status: 200, Raw: []byte(`{"modules":[{}]}`)}, "unknown module", "status 200, want 404"},

		"an index as text":                     {regtest.Fault{Kind: regtest.MirrorIndex, Header: http.Header{"Content-Type": {"text/plain"}}}, "mirror index", "media type"},
		"an index of a registry":               {set(regtest.MirrorIndex, "versions", []string{"1.0.0"}), "mirror index", "array"},
		"an index without versions":            {set(regtest.MirrorIndex, "versions", map[string]any{}), "mirror index", "no versions"},
		"a short version":                      {edit(regtest.MirrorIndex, func(doc map[string]any) { doc["versions"] = map[string]any{"1.0": map[string]any{}} }), "mirror index", "must be listed as"},
		"an index with a tag":                  {set(regtest.MirrorIndex, "versions", map[string]any{"1.0.0": map[string]any{}, "v2": map[string]any{}}), "mirror index", "v2"},
		"null in an index":                     {set(regtest.MirrorIndex, "versions", map[string]any{"1.0.0": nil}), "mirror index", "not an object"},
		"a version without document":           {regtest.Fault{Kind: regtest.MirrorVersion, Path: "1.0.0.json", Status: missing}, "mirror version", "status 404"},
		"no archives":                          {set(regtest.MirrorVersion, "archives", map[string]any{}), "mirror version", "no archives"},
		"null as an archive":                   {set(regtest.MirrorVersion, "archives", map[string]any{"linux_amd64": nil}), "mirror version", "null"},
		"an archive over http":                 {set(regtest.MirrorVersion, "archives", map[string]any{"linux_amd64": map[string]any{"url": "http://x.example/a.zip"}}), "mirror version", "not an https URL"},
		"an archive without a URL":             {set(regtest.MirrorVersion, "archives", map[string]any{"linux_amd64": map[string]any{}}), "mirror version", "missing"},
		"an invalid mirrored hash":             {set(regtest.MirrorVersion, "archives", map[string]any{"linux_amd64": map[string]any{"url": "a.zip", "hashes": []string{"x"}}}), "mirror version", "hash"},
		"mirrored hashes of an unknown scheme": {set(regtest.MirrorVersion, "archives", map[string]any{"linux_amd64": map[string]any{"url": "terraform-provider-alpha_1.0.0_linux_amd64.zip", "hashes": []string{"h2:abc"}}}), "mirror version", "linux_amd64 has no hash of scheme zh or h1"},
		"a platform without a machine":         {set(regtest.MirrorVersion, "archives", map[string]any{"linux": map[string]any{"url": "a.zip"}}), "mirror version", "platform"},
		"no mirrored hashes": {set(regtest.MirrorVersion, "archives", map[string]any{"linux_amd64": map[string]any{
			"url": "terraform-provider-alpha_1.0.0_linux_amd64.zip"}}), "", "no hashes for linux_amd64"},
		"one zh for two archives": {edit(regtest.MirrorVersion, func(doc map[string]any) {
			doc["archives"].(map[string]any)["linux_amd64"].(map[string]any)["hashes"] = []string{"zh:" + strings.Repeat("0", 64)}
		}), "mirror version", "is stated for two archives"},
		"the document as its archive":             {set(regtest.MirrorVersion, "archives", map[string]any{"linux_amd64": map[string]any{"url": "#x"}}), "mirror version", "the document itself"},
		"the document as its archive, ?":          {set(regtest.MirrorVersion, "archives", map[string]any{"linux_amd64": map[string]any{"url": "?"}}), "mirror version", "the document itself"},
		"the archive of the oldest version":       {regtest.Fault{Kind: regtest.Archive, Path: "/mirror/registry.example.com/acme/alpha/terraform-provider-alpha_1.0.0", Corrupt: true}, "mirror archive", ""},
		"the archive of the newest version":       {regtest.Fault{Kind: regtest.Archive, Path: "/mirror/registry.example.com/acme/alpha/terraform-provider-alpha_1.1.0", Corrupt: true}, "mirror archive", ""},
		"500 for an unknown provider of a mirror": {regtest.Fault{Kind: regtest.MirrorIndex, Path: "regcheck-unknown", Status: 500}, "unknown mirror provider", "status 500, want 404"},
		"another mirrored archive": {set(regtest.MirrorVersion, "archives", map[string]any{"linux_amd64": map[string]any{
			"url": "terraform-provider-alpha_1.0.0_linux_amd64.zip", "hashes": []string{"zh:" + strings.Repeat("0", 64)}}}), "mirror archive", "hash"},

		"403 without the token": {regtest.Fault{Kind: regtest.Versions, Path: "/alpha/", Skip: 1, Status: 403}, "", "403 without a token, want 401"}, // the second request for the list
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, o := exemplary()
			reg.AddFault(test.fault)
			found := regcheck.Examine(t.Context(), exemplaryURL, o)
			want := []string{test.by}
			if test.by == "" {
				want = nil
			}
			if got := failed(found); !slices.Equal(got, want) {
				t.Fatalf("the checks %q have failed, want %q:\n%v", got, want, found)
			}
			if !slices.ContainsFunc(found, func(f regcheck.Finding) bool {
				return (f.Level == regcheck.Failed || test.by == "" && f.Level == regcheck.Advice) && strings.Contains(f.Text, test.want)
			}) {
				t.Errorf("found %v, want %q", found, test.want)
			}
		})
	}
}

// TestExamineRelativeURLs: URLs in a package document may be relative to it, as the protocol says and the CLIs resolve
// them, and regcheck fetches from them.
func TestExamineRelativeURLs(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]string{"path": "", "parents": "../../../../../../.."} {
		reg, o := exemplary()
		reg.AddFault(edit(regtest.Package, func(doc map[string]any) {
			for _, property := range []string{"download_url", "shasums_url", "shasums_signature_url"} {
				doc[property] = base + strings.TrimPrefix(doc[property].(string), exemplaryURL)
			}
		}))
		if found := regcheck.Examine(t.Context(), exemplaryURL, o); len(found) != 0 {
			t.Errorf("%s: found %v, want nothing", name, found)
		}
	}
	reg, o := exemplary()
	reg.AddFault(set(regtest.Package, "shasums_url", "nowhere"))
	if got := failed(regcheck.Examine(t.Context(), exemplaryURL, o)); !slices.Equal(got, []string{"sums"}) {
		t.Errorf("with a relative URL of no file %q have failed, want the sums", got)
	}
}

func TestExamineToken(t *testing.T) {
	t.Parallel()
	_, o := exemplary()
	o.Token = "another"
	if got := failed(regcheck.Examine(t.Context(), exemplaryURL, o)); !slices.Equal(got, []string{"discovery"}) {
		t.Errorf("with the wrong token %q have failed", got)
	}
	_, o = exemplary()
	open := regtest.New("registry.example.com")
	open.AddProvider(regtest.Provider{Address: "acme/alpha"})
	got := regcheck.Examine(t.Context(), exemplaryURL, regcheck.Options{Client: open.Client(), Token: o.Token, Provider: "acme/alpha"})
	if !slices.Equal(failed(got), []string{"authorization"}) {
		t.Errorf("a registry that wants no token: found %v", got)
	}
	for _, other := range []string{"other.example", "www.registry.example.com", "registry.example.com:8443"} {
		reg, o := exemplary()
		reg.AddFault(regtest.Fault{Kind: regtest.Discovery, Redirect: "https://" + other})
		regcheck.Examine(t.Context(), exemplaryURL, o)
		hop := 0
		for _, q := range reg.Requests() {
			if q.Kind != regtest.Discovery || q.Host != other {
				continue // the services that are there get it
			}
			if hop++; q.Authorization != "" {
				t.Errorf("%s has got the token", q)
			}
		}
		if hop == 0 {
			t.Errorf("%s was not asked", other)
		}
	}
}

// TestExamineBadBase: with an invalid base URL the token is not sent to any host.
func TestExamineBadBase(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"http://registry.example.com", exemplaryURL + "/x", "https://u:p@registry.example.com", exemplaryURL + "?x", "registry.example.com", "https://", ":",
		"https://-", "https://[::1]",
	} {
		reg, o := exemplary()
		o.Mirror, o.MirrorProvider = "https://mirror.example.net/mirror/", "registry.example.com/acme/alpha"
		found := regcheck.Examine(t.Context(), base, o)
		if got := failed(found); !slices.Equal(got, []string{"discovery"}) || strings.Contains(fmt.Sprint(found), "u:p") {
			t.Errorf("%q: found %v, want a failure of discovery, without the password", base, found)
		}
		for _, q := range reg.Requests() {
			if q.Authorization != "" {
				t.Errorf("%q: %s has got the token", base, q)
			}
		}
	}
}

// TestExamineSkips: checks that could not be made are reported as skipped.
func TestExamineSkips(t *testing.T) {
	t.Parallel()
	reg, o := exemplary()
	reg.AddFault(regtest.Fault{Kind: regtest.Discovery | regtest.MirrorIndex, Status: 404})
	checks := map[regcheck.Level]int{}
	for _, f := range regcheck.Examine(t.Context(), exemplaryURL, o) {
		checks[f.Level]++
	}
	if checks[regcheck.Failed] != 2 || checks[regcheck.Skipped] != 16 || len(checks) != 2 {
		t.Errorf("found %v, want 2 checks that failed and 16 that were skipped", checks)
	}
}

// TestExamineMirror: a mirror without a registry, by another server.
func TestExamineMirror(t *testing.T) {
	t.Parallel()
	reg, o := exemplary()
	only := regcheck.Options{Client: o.Client, Mirror: o.Mirror, MirrorProvider: "registry.example.com/acme/alpha"}
	if found := regcheck.Examine(t.Context(), "", only); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	only.Token = "secret"
	if found := regcheck.Examine(t.Context(), "", only); !slices.Equal(failed(found), []string{"authorization"}) {
		t.Errorf("a mirror that wants no token: found %v", found)
	}
	reg.Require("secret", regtest.MirrorIndex|regtest.MirrorVersion)
	if found := regcheck.Examine(t.Context(), "", only); len(found) != 0 {
		t.Errorf("a mirror that wants one: found %v", found)
	}

	source := regtest.New("registry.example.com")
	source.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"linux_amd64"}})
	handler := httptest.NewTLSServer(&mirrorserve.Handler{Source: &regclient.Client{Transport: &transport.Settings{HTTP: source.Client()}}})
	defer handler.Close()
	only = regcheck.Options{Client: handler.Client(), Mirror: handler.URL + "/", MirrorProvider: "registry.example.com/acme/alpha"}
	if found := regcheck.Examine(t.Context(), "", only); len(found) != 0 {
		t.Errorf("package mirrorserve: found %v", found)
	}
}

func TestExamineArguments(t *testing.T) {
	t.Parallel()
	if found := regcheck.Examine(t.Context(), "", regcheck.Options{Provider: "a/b"}); !slices.Equal(failed(found), []string{"discovery"}) {
		t.Errorf("without a base URL: found %v", found)
	}
	reg, o := exemplary()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	found := regcheck.Examine(ctx, exemplaryURL, o)
	if !slices.Contains(failed(found), "discovery") {
		t.Errorf("found %v after the end of the context", found)
	}
	for _, f := range found {
		if f.Level == regcheck.Failed && f.Text != "enough" {
			t.Errorf("found %v after the end of the context", f)
		}
	}
	if n := len(reg.Requests()); n > 0 {
		t.Errorf("%d requests after the end of the context", n)
	}
	for _, change := range []func(*regcheck.Options){
		func(o *regcheck.Options) { o.Provider = "alpha" },
		func(o *regcheck.Options) { o.Provider = "acme/other" },
		func(o *regcheck.Options) { o.Version = "9.9.9" },
		func(o *regcheck.Options) { o.Platform = "x" },
		func(o *regcheck.Options) { o.Module = "x" },
		func(o *regcheck.Options) { o.ModuleVersion = "9.9.9" },
		func(o *regcheck.Options) { o.Mirror = "http://registry.example.com/mirror/" },
		func(o *regcheck.Options) { o.Mirror = "https://%zz" },
		func(o *regcheck.Options) { o.MirrorProvider = "a/b/c/d" },
		func(o *regcheck.Options) { o.Provider, o.Module, o.Token = "", "", "" }, // which one the mirror has is not said
	} {
		_, o := exemplary()
		change(&o)
		if found := regcheck.Examine(t.Context(), exemplaryURL, o); len(failed(found)) == 0 {
			t.Errorf("%+v: nothing was found", o)
		}
	}
}

// recorder is a TB that records its calls.
type recorder struct {
	ctx            context.Context
	errors, logged []string
}

func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Helper()                  {}
func (r *recorder) Errorf(format string, a ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, a...))
}
func (r *recorder) Logf(format string, a ...any) {
	r.logged = append(r.logged, fmt.Sprintf(format, a...))
}

func TestCheck(t *testing.T) {
	t.Parallel()
	reg, o := exemplary()
	reg.AddFault(regtest.Fault{Kind: regtest.Signature, Status: 404})
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "/releases/", Part: "whole"})
	r := &recorder{ctx: t.Context()}
	regcheck.Check(r, exemplaryURL, o)
	if len(r.errors) != 1 || !strings.HasPrefix(r.errors[0], "signature: ") {
		t.Errorf("errors %q", r.errors)
	}
	if len(r.logged) != 1 || !strings.HasPrefix(r.logged[0], "ranges: advice: ") {
		t.Errorf("logged %q", r.logged)
	}
}

// TestExamineExecutable: an archive without a program that a client would start is no
// package.
func TestExamineExecutable(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"terraform-provider-alpha":            true,
		"terraform-provider-alpha_v1.0.0_x5":  true,
		"terraform-provider-alpha.exe":        true,
		"terraform-provider-alphabet_v1.0.0":  false,
		"bin/terraform-provider-alpha_v1.0.0": false,
		"README.md":                           false,
	} {
		reg := regtest.New("registry.example.com")
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Zip: archivetest.Zip(t, archivetest.Entry{Name: name})})
		found := regcheck.Examine(t.Context(), exemplaryURL, regcheck.Options{Client: reg.Client(), Provider: "acme/alpha"})
		if want := map[bool][]string{false: {"archive"}}[good]; !slices.Equal(failed(found), want) {
			t.Errorf("%s: found %v", name, found)
		}
	}
}

// TestClientsReadLocations: the check of a location fails exactly if terraform fails. OpenTofu reads the
// body too.
func TestClientsReadLocations(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		for _, answer := range []string{"header", "body", "both"} {
			reg := regtest.New("registry.example.com")
			reg.AddModule(regtest.Module{Address: "acme/network/aws", Answer: answer})
			server := must.Get(reg.ServeTLS())(t)
			defer server.Close()
			found := regcheck.Examine(t.Context(), server.URL, regcheck.Options{Client: server.Client(), Module: "acme/network/aws"})
			fails := slices.Contains(failed(found), "module location")

			project := terraformtest.New(t, program)
			project.Trust(t, server.CertPEM)
			// The clients take a module for one of a registry if its host has a dot.
			source := strings.Replace(server.Addr, "localhost", "127.0.0.1", 1) + "/acme/network/aws"
			project.Write(t, "main.tf", fmt.Sprintf("module \"network\" {\n  source = %q\n}\n", source))
			out, err := project.Try(t, "get", "-no-color")
			if want := fails && project.Name() == "terraform"; (err != nil) != want {
				t.Errorf("%s get with the answer %q: error %v, want one: %t; Examine found %v\n%s", project.Name(), answer, err, want, found, out)
			}
		}
	})
}
