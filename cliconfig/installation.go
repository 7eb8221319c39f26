package cliconfig

import (
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
)

// maxMethods bounds the methods of a block: they are all asked for each provider.
const maxMethods = 1000

// installation is one block provider_installation.
type installation struct {
	place     Place
	methods   []Method
	overrides map[addrs.Provider]string
}

// block reports whether it is a block without labels.
func (r *fileReader) block(it item) bool {
	switch {
	case it.value.kind != object, it.equals && !r.json:
		r.wrong(it.at(), "%s must be a block", shown(it.name()))
	case len(it.names) > 1:
		r.wrong(it.names[1].at, "a block %s has no labels", shown(it.name()))
	default:
		return true
	}
	return false
}

func (r *fileReader) installation(it item) {
	if !r.block(it) {
		return
	}
	in := &installation{place: r.place(it.at()), overrides: map[addrs.Provider]string{}}
	for _, method := range it.value.body {
		if r.block(method) {
			r.method(in, method)
		}
	}
	if first := r.set.installation; first != nil {
		r.wrong(it.at(), "there is more than one block provider_installation; the first one is at %s", first.place)
		return
	}
	r.set.installation = in
}

// locationArguments has the argument with the location for each kind of method.
var locationArguments = map[Kind]string{
	Direct: "", FilesystemMirror: "path", NetworkMirror: "url", OCIMirror: "repository_template",
}

// method reads one method of installation.
func (r *fileReader) method(in *installation, it item) {
	if it.name() == "dev_overrides" {
		if len(in.methods) > 0 {
			r.wrong(it.at(), "a block \"dev_overrides\" must come before all methods, because it has precedence over them")
		}
		r.devOverrides(in, it)
		return
	}
	m := &Method{Kind: Kind(it.name()), Place: r.place(it.at())}
	required, ok := locationArguments[m.Kind]
	if !ok {
		r.wrong(it.at(), "unknown method of installation %s", shown(it.name()))
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
		r.wrong(location, "a block %q needs the argument %q", m.Kind, required)
	}
	if m.Location != "" {
		r.location(m, location, r.problems.errors == before)
	}
	switch {
	case r.problems.errors > before:
	case len(in.methods) == maxMethods:
		r.fail(m.Place, fmt.Errorf("%w: more than %d methods", ErrTooLarge, maxMethods))
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

// patterns returns the patterns in a list. A pattern with a type that no provider can have
// becomes the zero Pattern, which matches no provider: the CLI accepts it, and an include
// list that would be empty without it must not select all providers.
func (r *fileReader) patterns(it item) []provider.Pattern {
	var patterns []provider.Pattern
	elements, _ := r.texts(it)
	for _, e := range elements {
		pattern, err := provider.ParsePattern(r.sys.full(e.text))
		switch {
		case err != nil && impossibleType(r.sys.full(e.text)):
			r.warning(r.place(e.at), "nothing is selected", err)
		case err != nil:
			r.fail(r.place(e.at), err)
			continue
		}
		patterns = append(patterns, pattern)
	}
	return patterns
}

// impossibleType reports whether a pattern is wrong only in that its type starts with
// "terraform-" or "opentofu-". Any other type in its place would be a right one.
func impossibleType(pattern string) bool {
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

// location checks the location of a method, and completes it. The template of an OCI
// mirror is compared with the patterns only if these are valid.
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
			r.wrong(at, "invalid \"repository_template\": %v", err)
		}
	}
}

// mirrorURL checks the base URL of a mirror, which an error does not repeat.
func (r *fileReader) mirrorURL(url string, at int) {
	_, err := (&mirrorclient.Client{BaseURL: url}).Base()
	switch {
	case err == nil:
	case !strings.HasPrefix(strings.ToLower(url), "https://"):
		r.wrong(at, "the URL of a mirror must start with https://")
	default:
		_, cause, _ := strings.Cut(err.Error(), "BaseURL: ")
		r.wrong(at, "the URL of the mirror cannot be used: %s", cause)
	}
}

// devOverrides reads directories that stand in for providers.
func (r *fileReader) devOverrides(in *installation, it item) {
	for _, override := range it.value.body {
		p, err := addrs.ParseProviderIn(r.sys.defaultHost(), override.name())
		if err != nil {
			r.fail(r.place(override.at()), err)
			continue
		}
		dir, ok := r.text(override)
		switch {
		case !ok:
		case dir == "":
			r.wrong(override.value.at, "the directory for %s is empty", p)
		default:
			if in.overrides[p] != "" {
				r.warn(override.at(), "there is another override for %s; the last one counts", p)
			}
			in.overrides[p] = r.sys.abs(dir)
		}
	}
}
