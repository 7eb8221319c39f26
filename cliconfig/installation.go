package cliconfig

import (
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
)

// maxMethods is the maximum number of methods. Each provider is searched in all of them.
const maxMethods = 1000

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
		if r.isBlock(method) {
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
var locationArguments = map[Kind]string{
	Direct: "", FilesystemMirror: "path", NetworkMirror: "url", OCIMirror: "repository_template",
}

// method reads one installation method.
func (r *fileReader) method(in *installation, it item) {
	if it.name() == "dev_overrides" {
		if len(in.methods) > 0 {
			r.errorf(it.at(), "a block \"dev_overrides\" must come before all methods")
		}
		r.devOverrides(in, it)
		return
	}
	m := &Method{Kind: Kind(it.name()), Place: r.place(it.at())}
	required, ok := locationArguments[m.Kind]
	if !ok {
		r.errorf(it.at(), "unknown installation method %s", quote(it.name()))
		return
	}
	before, location := r.problems.errors, it.at()
	readers := r.methodReaders(m)
	if required != "" {
		readers[required] = func(it item) {
			m.Location, _ = r.text(it)
			location = it.value.at
		}
	}
	r.arguments(it.name(), it.value, readers)
	if required != "" && m.Location == "" && r.problems.errors == before {
		r.errorf(location, "a block %q needs the argument %q", m.Kind, required)
	}
	if m.Location != "" {
		r.location(m, location, r.problems.errors == before)
	}
	switch {
	case r.problems.errors > before:
	case len(in.methods) == maxMethods:
		r.addError(m.Place, fmt.Errorf("%w: more than %d methods", ErrTooLarge, maxMethods))
	default:
		in.methods = append(in.methods, *m)
	}
}

// methodReaders returns the readers of the arguments of a method, apart from its location.
func (r *fileReader) methodReaders(m *Method) readers {
	readers := readers{
		"include": func(it item) { m.Include = append(m.Include, r.patterns(it)...) },
		"exclude": func(it item) { m.Exclude = append(m.Exclude, r.patterns(it)...) },
	}
	if m.Kind == Direct || m.Kind == NetworkMirror {
		readers["download_retry_count"] = func(it item) {
			if n, ok := r.count(it); ok {
				m.DownloadRetries = &n
			}
		}
	}
	if m.Kind == NetworkMirror {
		readers["trust_all_hashes"] = func(it item) { m.TrustAllHashes, _ = r.boolean(it) }
	}
	return readers
}

// patterns returns the patterns in a list. A pattern with a reserved type, which the CLI
// accepts, becomes the zero Pattern, which matches no provider. Without it, an include list
// could become empty and select all providers.
func (r *fileReader) patterns(it item) []provider.Pattern {
	var patterns []provider.Pattern
	for _, e := range r.texts(it) {
		pattern, err := provider.ParsePattern(r.sys.withDefaultHost(e.text))
		switch {
		case err != nil && reservedType(r.sys.withDefaultHost(e.text)):
			r.addWarning(r.place(e.at), "the pattern selects no provider", err)
		case err != nil:
			r.addError(r.place(e.at), err)
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

// location checks and completes the location of a method. The template of an OCI mirror is
// compared with the patterns only if they are valid.
func (r *fileReader) location(m *Method, at int, valid bool) {
	switch m.Kind {
	case FilesystemMirror:
		m.Location = r.sys.abs(m.Location)
	case NetworkMirror:
		r.mirrorURL(m.Location, at)
	case OCIMirror:
		var err error
		if m.template, err = parseTemplate(m.Location); err == nil && valid {
			err = m.template.checkVariables(m.Include)
		}
		if err != nil {
			r.errorf(at, "invalid \"repository_template\": %v", err)
		}
	}
}

// mirrorURL checks the base URL of a mirror. Errors do not repeat the URL.
func (r *fileReader) mirrorURL(url string, at int) {
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
			r.addError(r.place(override.at()), err)
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
