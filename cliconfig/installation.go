package cliconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
)

// The kinds of methods are the names of their blocks.
const (
	direct           = "direct"
	filesystemMirror = "filesystem_mirror"
	networkMirror    = "network_mirror"
	ociMirror        = "oci_mirror"
)

// A Method is an installation method for providers.
type Method struct {
	Kind string `json:"kind"` // "direct" (the registry), "filesystem_mirror", "network_mirror" or "oci_mirror"

	Location string `json:"location,omitempty"` // absolute path, URL or repository template; empty for direct

	provider.Patterns

	// DownloadRetries is download_retry_count, for archives. Zero means the default, a negative number no retries.
	DownloadRetries int `json:"download_retries,omitempty"`

	TrustAllHashes bool `json:"trust_all_hashes,omitempty"` // see [mirrorclient.Client]

	Implicit bool `json:"implicit,omitempty"` // without a block, see [Config.ProviderSource]

	Place Place `json:"place,omitzero"` // of the block
}

// String returns kind and location.
func (m *Method) String() string {
	if m.Location == "" {
		return m.Kind
	}
	location := m.Location
	if u, err := url.Parse(location); m.Kind == networkMirror && err == nil {
		u.User, u.RawQuery = nil, ""
		location = u.String()
	}
	return m.Kind + " " + printable(location)
}

// Repository expands the Location of an oci_mirror, such as "oci.example.com/${type}". For other kinds it returns "".
func (m *Method) Repository(p addrs.Provider) string {
	if m.Kind != ociMirror {
		return ""
	}
	return template(m.Location).expand(p)
}

// An installation is the content of a provider_installation block.
type installation struct {
	place     Place
	methods   []Method
	overrides map[addrs.Provider]string
}

// isBlock reports whether it is a block without labels. It reports an error if not.
func (r *fileReader) isBlock(it item) bool {
	switch {
	case it.value.kind != object, it.equals && !r.json:
		r.errorf(it.at(), "%s must be a block", quote(it.name()))
	case len(it.names) > 1:
		r.errorf(it.names[1].at, "a block %s has no labels", quote(it.name()))
	default:
		return true
	}
	return false
}

func (r *fileReader) installation(it item) {
	if !r.isBlock(it) {
		return
	}
	in := &installation{place: r.place(it.at()), overrides: map[addrs.Provider]string{}}
	for _, method := range it.value.body {
		switch {
		case !r.isBlock(method):
		case method.name() == "dev_overrides":
			if len(in.methods) > 0 {
				r.errorf(method.at(), "a block \"dev_overrides\" must come before all methods")
			}
			r.devOverrides(in, method)
		default:
			r.method(in, method)
		}
	}
	if first := r.set.installation; first != nil {
		r.errorf(it.at(), "a second block \"provider_installation\"; the first one is at %s", first.place)
		return
	}
	r.set.installation = in
}

// locationArguments are the names of the argument with the location, by kind of method.
var locationArguments = map[string]string{
	direct: "", filesystemMirror: "path", networkMirror: "url", ociMirror: "repository_template",
}

// method reads one installation method.
func (r *fileReader) method(in *installation, it item) {
	m := &Method{Kind: it.name(), Place: r.place(it.at())}
	required, ok := locationArguments[m.Kind]
	if !ok {
		r.errorf(it.at(), "unknown installation method %s", quote(it.name()))
		return
	}
	before, location := r.problems.errors, it.at()
	for _, arg := range it.value.body {
		name := strings.ToLower(arg.name())
		switch {
		case name == "include":
			m.Include = append(m.Include, r.patterns(arg)...)
		case name == "exclude":
			m.Exclude = append(m.Exclude, r.patterns(arg)...)
		case required != "" && name == required:
			m.Location, _ = r.text(arg)
			location = arg.value.at
		case name == "download_retry_count" && (m.Kind == direct || m.Kind == networkMirror):
			if n, ok := r.count(arg); ok {
				m.DownloadRetries = orDisabled(n)
			}
		case name == "trust_all_hashes" && m.Kind == networkMirror:
			m.TrustAllHashes, _ = r.boolean(arg)
		default:
			r.unknown(arg, it.name())
		}
	}
	switch {
	case m.Location == "":
		if required != "" && r.problems.errors == before {
			r.errorf(location, "a block %q needs the argument %q", m.Kind, required)
		}
	case m.Kind == filesystemMirror:
		m.Location = r.sys.abs(m.Location)
	case m.Kind == networkMirror:
		r.checkMirrorURL(m.Location, location)
	case m.Kind == ociMirror:
		repository := template(m.Location)
		err := repository.check()
		if err == nil && r.problems.errors == before {
			err = repository.checkVariables(m.Include) // compared with valid patterns only
		}
		if err != nil {
			r.errorf(location, "invalid \"repository_template\": %v", err)
		}
	}
	switch {
	case r.problems.errors > before:
	case len(in.methods) == maxMethods:
		r.problems.fail(m.Place, fmt.Errorf("%w: more than %d methods", failure.ErrTooLarge, maxMethods))
	default:
		in.methods = append(in.methods, *m)
	}
}

// patterns returns the patterns in a list. A pattern with a reserved type, which the CLI
// accepts, becomes the zero Pattern, which matches no provider. Without it, an include list
// could become empty and select all providers.
func (r *fileReader) patterns(it item) []provider.Pattern {
	var patterns []provider.Pattern
	for _, e := range r.texts(it) {
		text := e.text
		if r.sys.Terraform && strings.Count(text, "/") == 1 {
			text = r.sys.defaultHost().Display() + "/" + text
		}
		pattern, err := provider.ParsePattern(text)
		switch {
		case err != nil && reservedType(text):
			r.problems.warn(r.place(e.at), "the pattern selects no provider", err)
		case err != nil:
			r.problems.fail(r.place(e.at), err)
			continue
		}
		patterns = append(patterns, pattern)
	}
	return patterns
}

// reservedType reports whether a pattern is invalid only because its type starts with
// "terraform-" or "opentofu-".
func reservedType(pattern string) bool {
	address, typ := "", pattern
	if i := strings.LastIndexByte(pattern, '/'); i >= 0 {
		address, typ = pattern[:i+1], strings.ToLower(pattern[i+1:])
	}
	if !strings.HasPrefix(typ, "terraform-") && !strings.HasPrefix(typ, "opentofu-") {
		return false
	}
	_, err := provider.ParsePattern(address + "x" + typ)
	return err == nil
}

// checkMirrorURL checks the base URL of a mirror. Errors do not repeat the URL.
func (r *fileReader) checkMirrorURL(url string, at int) {
	_, err := (&mirrorclient.Client{BaseURL: url}).Base()
	switch {
	case err == nil:
	case !strings.HasPrefix(strings.ToLower(url), "https://"):
		r.errorf(at, "the URL of a mirror must start with https://")
	default:
		_, cause, _ := strings.Cut(err.Error(), "BaseURL: ")
		r.errorf(at, "unsupported URL of a mirror: %s", cause)
	}
}

// devOverrides reads the directories that replace providers.
func (r *fileReader) devOverrides(in *installation, it item) {
	for _, override := range it.value.body {
		p, err := addrs.ParseProviderIn(r.sys.defaultHost(), override.name())
		if err != nil {
			r.problems.fail(r.place(override.at()), err)
			continue
		}
		dir, ok := r.text(override)
		switch {
		case !ok:
		case dir == "":
			r.errorf(override.value.at, "the directory for %s is empty", p)
		default:
			if in.overrides[p] != "" {
				r.warnf(override.at(), "a second override for %s; the last one is used", p)
			}
			in.overrides[p] = r.sys.abs(dir)
		}
	}
}

// implicitMethods sets the methods of a configuration without a block: the implicit
// directories and the registries.
func (l *loader) implicitMethods() {
	dirs := []string{l.sys.abs(l.sys.join("terraform.d", "plugins"))}
	for _, dir := range slices.Concat(l.sys.dataDirs(), l.sys.appDirs()) {
		if dir := l.sys.abs(l.sys.join(dir, "plugins")); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		info, err := l.sys.stat(dir)
		switch {
		case err == nil && info.IsDir():
			l.set.methods = append(l.set.methods, Method{Kind: filesystemMirror, Location: dir, Implicit: true})
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			l.problems.warn(Place{File: dir}, "ignored directory for providers", err)
		}
	}
	l.set.methods = append(l.set.methods, Method{Kind: direct, Implicit: true})
}

// A template is the address of a repository with variables, for example
// "example.com/${namespace}/${type}". The CLI also permits expressions in the braces.
type template string

var templateVariable = regexp.MustCompile(`\$\{\s*(hostname|namespace|type)\s*\}`)

// check checks that the template gives the address of a repository.
func (t template) check() error {
	rest := templateVariable.ReplaceAllString(string(t), "")
	if strings.Contains(rest, "${") || strings.Contains(string(t), "$${") {
		return errors.New("expected hostname, namespace or type between ${ and }; other expressions are not supported")
	}
	if strings.Contains(rest, "%{") {
		return errors.New("directives with %{ are not supported")
	}
	host, name, ok := strings.Cut(t.expand(addrs.MustParseProvider("example.com/namespace/type")), "/")
	if _, err := svchost.FromWire(host); err != nil || !ok || name == "" || strings.ContainsAny(name, " \t\n") {
		return errors.New("the result must be a repository address: a hostname, a slash and a name")
	}
	return nil
}

// checkVariables checks that each provider has its own repository: the template must
// contain each variable that the patterns do not determine. The CLI ignores stars here: it
// assumes that acme/* and */* together determine the namespace.
func (t template) checkVariables(include []provider.Pattern) error {
	isZero := func(p provider.Pattern) bool { return p == provider.Pattern{} }
	if len(include) > 0 {
		if include = slices.DeleteFunc(slices.Clone(include), isZero); len(include) == 0 {
			return nil
		}
	}
	for i, variable := range []string{"hostname", "namespace", "type"} {
		values := map[string]bool{}
		for _, p := range include {
			values[strings.Split(p.String(), "/")[i]] = true
		}
		used := slices.ContainsFunc(templateVariable.FindAllStringSubmatch(string(t), -1), func(m []string) bool { return m[1] == variable })
		if (len(values) != 1 || values["*"]) && !used {
			return fmt.Errorf("it must contain ${%[1]s}, because \"include\" selects more than one %[1]s", variable)
		}
	}
	return nil
}

func (t template) expand(p addrs.Provider) string {
	values := map[string]string{"hostname": p.Host().String(), "namespace": p.Namespace(), "type": p.Type()}
	return templateVariable.ReplaceAllStringFunc(string(t), func(variable string) string {
		return values[templateVariable.FindStringSubmatch(variable)[1]]
	})
}
