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

// method reads one method of installation.
func (r *fileReader) method(in *installation, it item) {
	if it.name() == "dev_overrides" {
		if len(in.methods) > 0 {
			r.wrong(it.at(), "a block \"dev_overrides\" must come before all methods, because it has precedence over them")
		}
		r.devOverrides(in, it)
		return
	}
	m := &methodReader{fileReader: r, Method: Method{Kind: Kind(it.name()), Place: r.place(it.at())}, at: it.at()}
	required := ""
	switch m.Kind {
	case Direct:
	case FilesystemMirror:
		required = "path"
	case NetworkMirror:
		required = "url"
	case OCIMirror:
		required = "repository_template"
	default:
		r.wrong(it.at(), "unknown method of installation %s", shown(it.name()))
		return
	}
	for _, argument := range it.value.body {
		m.argument(argument, required)
	}
	if required != "" && m.Location == "" && !m.failed {
		m.wrong(m.at, "a block %q needs the argument %q", m.Kind, required)
	}
	if m.Location != "" {
		m.check()
	}
	switch {
	case m.failed:
	case len(in.methods) == maxMethods:
		m.problems.add(&Problem{Place: m.Place, Message: fmt.Sprintf("%v: more than %d methods", ErrTooLarge, maxMethods), Err: ErrTooLarge})
	default:
		in.methods = append(in.methods, m.Method)
	}
}

// methodReader reads the arguments of one method.
type methodReader struct {
	*fileReader
	Method
	at     int // of the location, or of the block
	failed bool
}

func (m *methodReader) wrong(at int, format string, args ...any) {
	m.failed = true
	m.fileReader.wrong(at, format, args...)
}

func (m *methodReader) argument(it item, location string) {
	retries := m.Kind == Direct || m.Kind == NetworkMirror
	ok := true
	switch {
	case it.is("include"):
		ok = m.patterns(it, &m.Include)
	case it.is("exclude"):
		ok = m.patterns(it, &m.Exclude)
	case location != "" && it.is(location):
		m.Location, ok = m.text(it)
		m.at = it.value.at
	case retries && it.is("download_retry_count"):
		var n int
		if n, ok = m.count(it); ok {
			m.DownloadRetries = &n
		}
	case m.Kind == NetworkMirror && it.is("trust_all_hashes"):
		m.TrustAllHashes, ok = m.boolean(it)
	default:
		m.warn(it.at(), "unknown argument %s of a block %q is ignored", shown(it.name()), m.Kind)
	}
	m.failed = m.failed || !ok
}

// patterns appends the patterns of a list. One with a type that no provider can have is
// the zero Pattern, which selects none: the CLI does not mind it, and an include list
// that would be empty without it must not select everything.
func (m *methodReader) patterns(it item, to *[]provider.Pattern) bool {
	elements, ok := m.texts(it)
	for _, e := range elements {
		pattern, err := provider.ParsePattern(m.sys.full(e.text))
		if err != nil && impossibleType(m.sys.full(e.text)) {
			m.problems.add(&Problem{Place: m.place(e.at), Warning: true, Err: err, Message: "nothing is selected: " + oneLine(err)})
		} else if err != nil {
			m.because(e.at, err)
			ok = false
			continue
		}
		*to = append(*to, pattern)
	}
	return ok
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

// check makes sure that the location can be one, and completes it.
func (m *methodReader) check() {
	switch m.Kind {
	case FilesystemMirror:
		m.Location = m.sys.abs(m.Location)
	case NetworkMirror:
		m.checkURL()
	case OCIMirror:
		t, err := parseTemplate(m.Location)
		if err == nil && !m.failed {
			err = t.checkVariables(m.Include)
		}
		if err != nil {
			m.wrong(m.at, "invalid \"repository_template\": %v", err)
		}
		m.template = t
	}
}

// checkURL checks the base URL of a mirror, which an error does not repeat.
func (m *methodReader) checkURL() {
	_, err := (&mirrorclient.Client{BaseURL: m.Location}).Base()
	switch {
	case err == nil:
	case !strings.HasPrefix(strings.ToLower(m.Location), "https://"):
		m.wrong(m.at, "the URL of a mirror must start with https://")
	default:
		_, cause, _ := strings.Cut(err.Error(), "BaseURL: ")
		m.wrong(m.at, "the URL of the mirror cannot be used: %s", cause)
	}
}

// devOverrides reads directories that stand in for providers.
func (r *fileReader) devOverrides(in *installation, it item) {
	for _, override := range it.value.body {
		p, err := addrs.ParseProviderIn(defaultHost(r.sys.Terraform), override.name())
		if err != nil {
			r.because(override.at(), err)
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
