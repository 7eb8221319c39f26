package module

import (
	"cmp"
	"errors"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Address is the source of a module block. Exactly one exported field is set.
type Address struct {
	Registry addrs.ModuleSource // for [Request.Source]

	Location *Location // for [Request.Location]

	// Path is relative to the calling module, with slashes, such as "../dns". If that module is in a downloaded
	// package, join Path to its directory there, at first [Report.Subdir], and refuse a result that is not
	// [path/filepath.IsLocal].
	Path string

	source string // as the CLI writes it, if not Path or Registry.String
}

// ParseAddress parses a source as the CLI does: as a path if it starts with ./ or ../, else by
// [addrs.ParseModuleSource], else by [ParseLocation]. If the block has a version, the source must be in a registry.
func ParseAddress(s string) (Address, error) { return ParseAddressIn(svchost.Hostname{}, s) }

// ParseAddressIn is [ParseAddress] with host as the registry of addresses without one, or [addrs.DefaultHost] if zero.
func ParseAddressIn(host svchost.Hostname, s string) (Address, error) {
	if isRelativePath(s) && s != "." && s != ".." { // the CLI takes the two for no path
		switch {
		case len(s) > maxLocation:
			return Address{}, refuseAddress(s, "it is too long", "")
		case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
			return Address{}, refuseAddress(s, "it must be UTF-8 without control characters", "")
		}
		clean := path.Clean(strings.ReplaceAll(s, `\`, "/"))
		if !strings.HasPrefix(clean, "../") {
			clean = "./" + clean // "./.." too, as the CLI has it
		}
		return Address{Path: clean}, nil
	}
	m, noModule := addrs.ParseModuleSourceIn(host, s)
	address, subdir, _ := strings.Cut(s, "//")
	if noModule == nil {
		a := Address{Registry: m}
		if strings.HasPrefix(subdir, "/") {
			a.source = m.Module.String() + "//" + path.Clean(subdir)
		}
		return a, nil
	}
	// Only the directory is refused: the source is in a registry.
	if _, err := addrs.ParseModuleIn(host, address); err == nil && !strings.Contains(s, "?") {
		return Address{}, noModule
	}
	if s != "" && strings.TrimSpace(s) != s {
		return Address{}, refuseAddress(s, "it has spaces at its ends", "")
	}
	p := parser{}
	reason := p.parse(s)
	if reason == "" {
		return Address{Location: &p.loc, source: p.source}, nil
	}
	switch u, err := url.Parse(s); {
	case s == "." || s == "..":
		return Address{}, refuseAddress(s, "a path must start with ./ or ../", s+"/")
	case !p.formless || err == nil && u.Scheme != "":
		return Address{}, refuseAddress(s, reason, p.suggestion)
	}
	reason = "it is neither a path that starts with ./ or ../, nor a module in a registry, nor a URL, nor one of the short forms"
	if n := strings.Count(address, "/"); n == 2 || n == 3 {
		if r, ok := errors.AsType[*addrs.ParseError](noModule); ok {
			reason += " (for a registry: " + r.Reason + ")"
		}
	}
	suggestion := "./" + s
	if suggestion != showInput(suggestion) {
		suggestion = "" // it would be shown in another form
	}
	return Address{}, refuseAddress(s, reason, suggestion)
}

func refuseAddress(input, reason, suggestion string) error {
	return &addrs.ParseError{Kind: "module source", Input: showInput(input), Reason: reason, Suggestion: suggestion}
}

// Source returns the source as the CLI writes it to modules.json, with secrets.
func (a Address) Source() string {
	return cmp.Or(a.Path, a.source, a.Registry.String())
}

// PURL returns the package URL without secrets: [addrs.ModuleSource.PURL], or for a location one of type "generic" with
// vcs_url or download_url, such as
//
//	pkg:generic/network@4b1c?vcs_url=git%2Bhttps://example.com/acme/network.git#modules/subnet
//
// Commit is [Report.Commit]. For a path or a location on this machine, the result is empty.
func (a Address) PURL(v addrs.Version, commit string) string {
	if a.Location == nil {
		return a.Registry.PURL(v)
	}
	l := *a.Location
	u, err := l.parsedURL()
	if err != nil || l.isLocal() {
		return ""
	}
	u.RawQuery, u.User = "", nil
	name, qualifier, version := path.Base(u.Path), "download_url="+url.QueryEscape(u.String()), cmp.Or(l.Digest, l.Tag, l.Ref)
	if l.Kind == KindGit || l.Kind == KindMercurial {
		name, version = strings.TrimSuffix(name, ".git"), cmp.Or(commit, l.Ref)
		qualifier = "vcs_url=" + url.QueryEscape(string(l.Kind)+"+"+u.String())
	}
	text := "pkg:generic/" + url.PathEscape(name)
	if version != "" {
		text += "@" + url.QueryEscape(version)
	}
	text += "?" + strings.NewReplacer("%2F", "/", "%3A", ":").Replace(qualifier)
	if l.Subdir != "" {
		text += "#" + (&url.URL{Path: l.Subdir}).EscapedPath()
	}
	return text
}

// String returns text without secrets.
func (a Address) String() string {
	switch {
	case a.Path != "":
		return weburl.Clean(a.Path, maxShown)
	case a.Location != nil:
		return a.Location.String()
	}
	return a.Registry.String()
}
