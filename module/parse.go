package module

import (
	"errors"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/weburl"
)

// maxLocation is the maximum length of a location in bytes. Presigned URLs are long.
const maxLocation = 16 << 10

// ParseLocation parses a location in all forms that the OpenTofu CLI accepts, see
// https://opentofu.org/docs/language/modules/sources/:
//
//	https://HOST/PATH                      an archive, or a page that names another location
//	git::URL  git::ssh://…  git@HOST:PATH  a git repository
//	github.com/OWNER/REPO[/SUBDIR]         a git repository over https
//	bitbucket.org/OWNER/REPO               the same
//	hg::URL  s3::URL  gcs::URL             other methods
//	BUCKET.s3-REGION.amazonaws.com/PATH    s3::
//	www.googleapis.com/storage/v1/…        gcs::
//	oci://HOST/REPOSITORY                  an artifact in an OCI registry
//	file:///PATH  /PATH                    a local directory or archive
//
// A directory of the package may follow after "//", and parameters after "?". The parameters
// archive, checksum, ref, depth, tag and digest become fields; others except filename stay in
// the URL. An unknown scheme gives KindOther.
//
// Refused are registry addresses, relative paths, fragments, directories that lead out of the
// package, the parameter sshkey, refs and hosts that a program could take for an option,
// "ext::", "checksum=file:", and more than 16 KiB. The error is an [*addrs.ParseError].
func ParseLocation(s string) (*Location, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return nil, refuse(s, "it is empty")
	case len(s) > maxLocation:
		return nil, refuse(s, "it is too long")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return nil, refuse(s, "it must be UTF-8 without control characters")
	case isRelativePath(s):
		return nil, refuse(s, "a location must not be a relative path")
	case isRegistryAddress(s):
		return nil, refuse(s, "a location must not be the address of a module in a registry")
	}
	p := parser{input: s}
	if reason := p.run(s); reason != "" {
		return nil, suggest(s, reason, p.suggestion)
	}
	if len(p.Source()) > maxLocation { // after escaping
		return nil, refuse(s, "it is too long")
	}
	return &p.Location, nil
}

func isRelativePath(s string) bool {
	first, _, more := strings.Cut(strings.ReplaceAll(s[:min(len(s), len("../"))], `\`, "/"), "/")
	return (first == "." || first == "..") && (more || first == s)
}

func isRegistryAddress(s string) bool {
	_, err := addrs.ParseModuleSource(s)
	return err == nil
}

// parser parses one location. Its methods return the reason if they refuse it, otherwise "".
type parser struct {
	Location
	input      string
	forced     string // the word before "::"
	address    string // without getter, subdirectory and query
	query      string
	suggestion string
}

var forcedGetter = regexp.MustCompile(`^([A-Za-z0-9]+)::(.+)$`)

func (p *parser) run(s string) string {
	if m := forcedGetter.FindStringSubmatch(s); m != nil {
		p.forced, s = m[1], m[2]
		if forcedGetter.MatchString(s) {
			return `it has more than one "::"`
		}
	}
	s, p.query, _ = strings.Cut(s, "?")
	// Like the CLI, escape spaces.
	p.query = strings.ReplaceAll(p.query, " ", "%20")
	if strings.Contains(p.query, "#") {
		return "it must not have a fragment"
	}
	var subdir string
	p.address, subdir = splitSubdir(s)
	for _, step := range []func() string{
		p.detect,
		func() string { return p.addSubdir(subdir) },
		p.classify,
		p.parseQuery,
		p.finish,
	} {
		if reason := step(); reason != "" {
			return reason
		}
	}
	return ""
}

// splitSubdir splits at the first "//" that is not part of "://".
func splitSubdir(s string) (address, subdir string) {
	offset := 0
	if i := strings.Index(s, "://"); i >= 0 {
		offset = i + len("://")
	}
	if i := strings.Index(s[offset:], "//"); i >= 0 {
		return s[:offset+i], s[offset+i+len("//"):]
	}
	return s, ""
}

// addSubdir appends a subdirectory to p.Subdir.
func (p *parser) addSubdir(subdir string) string {
	joined, err := joinSubdir(p.Subdir, subdir)
	if e, ok := errors.AsType[*addrs.ParseError](err); ok {
		return e.Reason
	}
	p.Subdir = joined
	return ""
}

// joinSubdir returns directory sub in directory base. Neither may lead out of its parent. The
// error is an [*addrs.ParseError].
func joinSubdir(base, sub string) (string, error) {
	base, err := addrs.ParseSubdir(base)
	if err != nil {
		return "", err
	}
	sub, err = addrs.ParseSubdir(sub)
	if err != nil {
		return "", err
	}
	return path.Join(base, sub), nil
}

// detect makes a URL of a text without a scheme.
func (p *parser) detect() string {
	switch {
	case strings.HasPrefix(p.address, `\\`):
		return "network paths are not supported"
	case isAbsolutePath(p.address):
		p.address = fileURL(p.address)
		return ""
	}
	if u, err := url.Parse(p.address); err == nil && u.Scheme != "" {
		return ""
	}
	for _, d := range []func() (bool, string){p.github, p.scp, p.bitbucket, p.gcs, p.s3} {
		if ok, reason := d(); ok {
			return reason
		}
	}
	if strings.Contains(p.address, "://") {
		return "" // classify returns the reason
	}
	return reasonNeither
}

const reasonNeither = "it is neither a URL nor one of the short forms"

// isAbsolutePath reports whether s is an absolute path on this system or on Windows.
func isAbsolutePath(s string) bool {
	if strings.HasPrefix(s, "/") {
		return true
	}
	return len(s) > 2 && unicode.IsLetter(rune(s[0])) && s[1] == ':' && (s[2] == '\\' || s[2] == '/')
}

func fileURL(name string) string {
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}

// Limits for texts in errors and events, in bytes.
const (
	maxShown = 1000 // location
	maxInput = 200  // refused text
)

// showAddress returns a URL without secrets and without its query. The user "git" of an SSH
// address is not secret.
func showAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return showInput(address)
	}
	u.RawQuery, u.ForceQuery = "", false
	shown := weburl.Redact(u)
	if u.User != nil && u.User.String() == "git" {
		shown = strings.Replace(shown, "://", "://git@", 1)
	}
	return shown
}

// showInput returns a refused text for an error, without secrets. The text need not be a URL.
func showInput(s string) string {
	s, _, _ = strings.Cut(s, "#")
	return weburl.Clean(weburl.MaskPath(fault.Shown(s, maxLocation)), maxInput)
}

// refuse returns the error of parsing a location.
func refuse(input, reason string) error { return suggest(input, reason, "") }

func suggest(input, reason, suggestion string) error {
	return &addrs.ParseError{Kind: "module location", Input: showInput(input), Reason: reason, Suggestion: suggestion}
}
