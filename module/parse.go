package module

import (
	"cmp"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"hash"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/weburl"
)

// maxLocation is the maximum length of a location in bytes. Presigned URLs are long.
const maxLocation = 16 << 10

// ParseLocation parses a location in the forms that the OpenTofu CLI accepts, see
// https://opentofu.org/docs/language/modules/sources/:
//
//	https://HOST/PATH                              KindHTTP
//	git::URL  git@HOST:PATH                        KindGit
//	git::HOST:PATH                                 KindGit, also with an alias of SSH
//	github.com/OWNER/REPO[/SUBDIR]                 KindGit, over https
//	bitbucket.org/OWNER/REPO                       KindGit, over https
//	hg::URL                                        KindMercurial
//	s3::URL   BUCKET.s3-REGION.amazonaws.com/PATH  KindS3
//	gcs::URL  www.googleapis.com/storage/v1/…      KindGCS
//	oci://HOST/REPOSITORY                          KindOCI
//	file:///PATH  /PATH  C:\PATH                   KindLocal
//
// An unknown scheme gives KindOther. A directory of the package may follow after "//", and parameters after "?". These
// become fields: ref of git, rev of Mercurial, tag or digest of OCI, and archive and checksum, which git and Mercurial
// refuse. OCI refuses other parameters. Filename is dropped; others stay in the URL. A fragment after "gcs::" is the
// generation of an object.
//
// Also refused are remote helpers of git, which are programs, as in "git::codecommit::REGION://NAME", registry
// addresses, relative paths, other fragments, directories that lead out of the package, the parameter sshkey, refs and
// hosts that a program could take for an option, "checksum=file:", and more than 16 KiB.
func ParseLocation(s string) (*Location, error) {
	var p parser
	if reason := p.parse(s); reason != "" {
		return nil, &addrs.ParseError{Kind: "module location", Input: showInput(strings.TrimSpace(s)), Reason: reason, Suggestion: p.suggestion}
	}
	return &p.loc, nil
}

// parser parses one location. Its methods return the reason if they refuse it, otherwise "".
type parser struct {
	loc        Location
	forced     string // the word before "::"
	address    string // without getter, subdirectory and query
	query      string
	source     string // as the CLI writes it
	suggestion string // if refused
	formless   bool   // refused, because it is neither a URL nor one of the short forms
}

var forcedGetter = regexp.MustCompile(`^([A-Za-z0-9]+)::(.+)$`)

func (p *parser) parse(s string) string {
	s = strings.TrimSpace(s)
	switch _, noModule := addrs.ParseModuleSource(s); {
	case s == "":
		return "it is empty"
	case len(s) > maxLocation:
		return "it is too long"
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return "it must be UTF-8 without control characters"
	case isRelativePath(s):
		return "a location must not be a relative path; use the absolute path, as filepath.Abs returns it"
	case noModule == nil:
		return "a location must not be the address of a module in a registry"
	}
	if m := forcedGetter.FindStringSubmatch(s); m != nil {
		p.forced, s = m[1], m[2]
		if forcedGetter.MatchString(s) {
			if p.forced == "git" {
				return `"::" after "git::" names a git remote helper, a program that the location would choose; use a URL that git itself knows, or a Fetcher`
			}
			return `it has more than one "::"`
		}
	}
	if before, generation, ok := strings.Cut(s, "#"); ok && p.forced == string(KindGCS) {
		if generation == "" || strings.Trim(generation, "0123456789") != "" {
			return "its fragment must be the generation of an object, a number"
		}
		s, p.loc.Ref = before, generation
	}
	s, query, hasQuery := strings.Cut(s, "?")
	p.query = strings.ReplaceAll(query, " ", "%20") // like the CLI
	if strings.Contains(p.query, "#") {
		return "it must not have a fragment"
	}
	address, subdir := splitSubdir(s)
	if strings.HasPrefix(subdir, "/") { // the CLI joins it to the package, which it cannot leave
		subdir = path.Clean(subdir)
	}
	p.address = address
	reason := p.detect()
	if reason == "" {
		p.source = p.written(address, subdir, query, hasQuery)
		if p.loc.Ref != "" {
			p.source += "#" + p.loc.Ref
		}
		reason = p.addSubdir(strings.TrimPrefix(subdir, "/"))
	}
	if reason == "" {
		reason = p.classify()
	}
	if reason == "" {
		reason = p.parseQuery()
	}
	if reason != "" {
		return reason
	}
	p.loc.URL = p.address
	if p.query != "" {
		p.loc.URL += "?" + p.query
	}
	switch p.loc.Kind {
	case KindHTTP, KindS3, KindGCS, KindLocal, KindOther:
		if p.loc.Archive == "" {
			p.loc.Archive = formatOfPath(p.address)
		}
	}
	switch {
	case p.loc.Tag != "" && p.loc.Digest != "":
		return "it must not have both a tag and a digest"
	case len(p.loc.Source()) > maxLocation: // after escaping
		return "it is too long"
	}
	return ""
}

// written returns the source as the CLI writes it: a URL is not changed, except that its directory is cleaned.
func (p *parser) written(address, subdir, query string, hasQuery bool) string {
	switch u, err := url.Parse(p.address); {
	case p.address == address: // a URL
	case filepath.IsAbs(address):
		address = "file://" + filepath.ToSlash(address) // on Windows, the CLI too has two slashes
	case err == nil:
		address = u.String()
		if values, err := url.ParseQuery(query); err == nil && u.Scheme == "ssh" {
			query = values.Encode()
		}
		hasQuery = query != ""
	}
	if subdir != "" {
		subdir = path.Clean(subdir)
	}
	if subdir = path.Join(p.loc.Subdir, subdir); subdir != "" {
		address += "//" + subdir
	}
	if p.forced != "" {
		address = p.forced + "::" + address
	}
	if hasQuery {
		address += "?" + query
	}
	return address
}

// isRelativePath reports whether s starts with an element "." or "..".
func isRelativePath(s string) bool {
	first, _, more := strings.Cut(strings.ReplaceAll(s[:min(len(s), len("../"))], `\`, "/"), "/")
	return (first == "." || first == "..") && (more || first == s)
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

// addSubdir appends a subdirectory to the subdirectory of the location.
func (p *parser) addSubdir(subdir string) string {
	joined, err := joinSubdir(p.loc.Subdir, subdir)
	if e, ok := errors.AsType[*addrs.ParseError](err); ok {
		return e.Reason
	}
	p.loc.Subdir = joined
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
	s := p.address
	switch {
	case strings.HasPrefix(s, `\\`):
		return "network paths are not supported"
	// An absolute path on this system or on Windows.
	case strings.HasPrefix(s, "/"), len(s) > 2 && unicode.IsLetter(rune(s[0])) && s[1] == ':' && (s[2] == '\\' || s[2] == '/'):
		name := path.Clean("/" + strings.ReplaceAll(s, `\`, "/"))
		p.address = (&url.URL{Scheme: "file", Path: name}).String()
		return ""
	}
	if u, err := url.Parse(s); err == nil && u.Scheme != "" {
		return ""
	}
	user, rest, ok := strings.Cut(s, "@")
	host, name, colon := strings.Cut(rest, ":")
	if ok && colon && !strings.ContainsAny(user+host, "/:@") && (user == "git" || p.forced == "git") {
		if user == "" || host == "" || strings.Trim(name, "/") == "" {
			return "it must be git@HOST:PATH"
		}
		u := url.URL{Scheme: "ssh", User: url.User(user), Host: host, Path: "/" + strings.TrimLeft(name, "/")}
		if user != "git" {
			return "only the user git can have the form USER@HOST:PATH; use git::ssh://USER@HOST/PATH"
		}
		p.address, p.forced = u.String(), cmp.Or(p.forced, "git")
		return ""
	}
	host, name, ok = strings.Cut(s, "/")
	switch {
	case ok && (host == "github.com" || host == "bitbucket.org"):
		return p.detectRepository(host, name)
	case strings.HasSuffix(host, ".googleapis.com"): // www.googleapis.com/storage/VERSION/BUCKET/OBJECT
		parts := strings.SplitN(name, "/", 4)
		if len(parts) < 4 || parts[0] != "storage" || !strings.HasPrefix(parts[1], "v") || parts[2] == "" || parts[3] == "" {
			return "it must be www.googleapis.com/storage/v1/BUCKET/OBJECT"
		}
		p.address = "https://www.googleapis.com/" + name
		return p.force("gcs")
	case strings.HasSuffix(host, ".amazonaws.com"):
		return p.detectS3(host, name)
	case strings.Contains(s, "://"):
		return "" // classify returns the reason
	}
	return p.noForm()
}

// detectRepository accepts HOST/OWNER/REPO, which a directory may follow on GitHub.
func (p *parser) detectRepository(host, name string) string {
	owner, rest, _ := strings.Cut(name, "/")
	repo, subdir, _ := strings.Cut(rest, "/")
	if owner == "" || repo == "" || subdir != "" && host != "github.com" {
		return "it must be " + host + "/OWNER/REPO"
	}
	p.address, p.forced = "https://"+host+"/"+owner+"/"+strings.TrimSuffix(repo, ".git")+".git", cmp.Or(p.forced, "git")
	return p.addSubdir(subdir)
}

// detectS3 accepts the forms of S3 URLs: s3[-REGION].amazonaws.com/BUCKET,
// BUCKET.s3[-REGION].amazonaws.com and BUCKET.s3.REGION.amazonaws.com.
func (p *parser) detectS3(host, name string) string {
	labels := strings.Split(strings.TrimSuffix(host, ".amazonaws.com"), ".")
	switch {
	case name != "" && (len(labels) == 1 || len(labels) == 2 && labels[0] == "s3"):
		p.address = "https://" + host + "/" + name
	case name != "" && len(labels) == 2:
		p.address = "https://" + labels[1] + ".amazonaws.com/" + labels[0] + "/" + name
	case name != "" && len(labels) == 3 && labels[1] == "s3":
		p.address = "https://s3." + labels[2] + ".amazonaws.com/" + labels[0] + "/" + name
	default:
		return "it must be s3.amazonaws.com/BUCKET/OBJECT or BUCKET.s3.amazonaws.com/OBJECT"
	}
	return p.force("s3")
}

// force sets the only getter that a short form has.
func (p *parser) force(getter string) string {
	if p.forced != "" && p.forced != getter {
		return "it is an address of " + getter + "::, not of " + p.forced + "::"
	}
	p.forced = getter
	return ""
}

func (p *parser) noForm() string {
	p.formless = true
	return "it is neither a URL nor one of the short forms"
}

// classify sets the kind by the word before "::", or else by the scheme, and checks the URL for it.
func (p *parser) classify() string {
	if p.forced == "git" && sshURL(p.address) != p.address {
		return p.classifySSH()
	}
	p.address = strings.ReplaceAll(p.address, " ", "%20")
	u, err := url.Parse(p.address)
	if err != nil {
		if rest, ok := strings.CutPrefix(p.address, "ssh://git@"); ok && !strings.ContainsAny(rest, "[]%") {
			p.suggestion = "git::git@" + weburl.Clean(rest, maxInput)
			return "its port is not a number"
		}
		return "it is not a URL"
	}
	switch rest, ok := strings.CutPrefix(p.address[len(u.Scheme):], "://"); {
	case !ok:
		return p.noForm()
	case strings.Contains(rest, "//"):
		return "its path has an empty element"
	case strings.Contains(rest, "#"):
		return "it must not have a fragment"
	case strings.ContainsFunc(rest+p.query, unicode.IsSpace):
		return "it must not have spaces"
	}
	p.address = u.String() // programs know schemes in lower case
	name := strings.Trim(u.Path, "/")
	switch getter := cmp.Or(p.forced, u.Scheme); getter {
	case "http", "https":
		p.loc.Kind = KindHTTP
		if u.Scheme != "http" && u.Scheme != "https" {
			return "its scheme must be https or http"
		}
	case "git", "hg":
		p.loc.Kind = Kind(getter)
		schemes := gitSchemes
		if getter == "hg" {
			schemes = schemes[:4]
		}
		switch {
		case !slices.Contains(schemes, u.Scheme):
			return "the scheme is not supported for repositories"
		case u.Scheme == "file":
			return checkFile(u)
		case name == "":
			return "the path of the repository is missing"
		}
	case "s3", "gcs":
		p.loc.Kind = Kind(getter)
	case "oci":
		p.loc.Kind = KindOCI
		switch {
		case u.Scheme != "oci":
			return "it must be oci://HOST/REPOSITORY"
		case u.User != nil:
			return "it must not have a user name"
		case name == "" || strings.ContainsAny(name, "@:"):
			return `it must be oci://HOST/REPOSITORY, with the version as "?tag=" or "?digest="`
		}
	case "file":
		p.loc.Kind = KindLocal
		return checkFile(u)
	default:
		p.loc.Kind, p.loc.Getter = KindOther, getter
		if u.Host == "" && name == "" {
			return "host and path are missing"
		}
		return checkText(u)
	}
	return checkHost(u)
}

var gitSchemes = []string{"https", "ssh", "http", "file", "git", "git+ssh", "ssh+git"}

// classifySSH checks HOST:PATH, which git gives to ssh. The path is relative to the user's home and stays as it is.
func (p *parser) classifySSH() string {
	p.loc.Kind = KindGit
	u, err := url.Parse(p.address)
	switch {
	case err != nil, len(u.Scheme) < 2, slices.Contains(gitSchemes, u.Scheme): // a drive of Windows, or a URL without "//"
		return p.noForm()
	case strings.Trim(u.Opaque+u.Path, "/") == "":
		return "the path of the repository is missing"
	case strings.HasPrefix(u.Opaque, ":"):
		return `"::" names a git remote helper, a program that the location would choose`
	case strings.ContainsAny(p.address, `#\`) || strings.ContainsFunc(p.address, unicode.IsSpace):
		return "its path must not have spaces, backslashes or hashes"
	}
	p.address = u.String()
	return ""
}

// sshURL returns a URL for git's form [USER@]HOST:PATH. It does not change other text.
func sshURL(address string) string {
	host, name, ok := strings.Cut(address, ":")
	if !ok || strings.Contains(host, "/") || strings.HasPrefix(name, "//") {
		return address
	}
	return "ssh://" + host + "/" + strings.TrimLeft(name, "/")
}

func checkFile(u *url.URL) string {
	switch {
	case u.Host != "" && u.Host != "localhost" || u.User != nil:
		return "a file URL must be file:///PATH"
	case strings.Trim(u.Path, "/") == "":
		return "the path is missing"
	}
	return ""
}

// checkHost refuses URLs without a host.
func checkHost(u *url.URL) string {
	if u.Opaque != "" || u.Hostname() == "" {
		return "the host is missing"
	}
	return checkText(u)
}

// checkText refuses hosts, users and paths that a program could take for an option or another
// path.
func checkText(u *url.URL) string {
	switch {
	case strings.HasPrefix(u.Host, "-"):
		return "its host starts with a hyphen"
	case strings.HasPrefix(u.User.Username(), "-"):
		return "its user starts with a hyphen"
	case u.Scheme != "https" && u.Scheme != "http" && strings.ContainsFunc(userText(u.User), notInUser):
		return "its user has an escaped slash, bracket, space or control character"
	case strings.Contains(u.Path, `\`):
		return "it contains a backslash"
	}
	return ""
}

func userText(u *url.Userinfo) string {
	password, _ := u.Password()
	return u.Username() + password
}

// notInUser reports whether r ends the host for git, which decodes the user before it finds the host, or is
// bad in an argument.
func notInUser(r rune) bool {
	return strings.ContainsRune("/[]", r) || unicode.IsSpace(r) || !unicode.IsPrint(r)
}

// parseQuery moves known parameters to their fields. Other parameters may be signed and stay
// unchanged.
func (p *parser) parseQuery() string {
	if p.query == "" {
		return ""
	}
	var kept []string
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(p.query, "&") {
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, noName := url.QueryUnescape(rawName)
		value, noValue := url.QueryUnescape(rawValue)
		known, reason := p.setParameter(name, value)
		switch {
		case !known || noName != nil:
			kept = append(kept, pair)
			continue
		case seen[name]:
			return "the parameter " + name + " occurs twice"
		case noValue != nil:
			return "the parameter " + name + " is badly escaped"
		case reason != "":
			return reason
		}
		seen[name] = true
	}
	p.query = strings.Join(kept, "&")
	return ""
}

// ociTag matches a tag of the OCI distribution specification.
var ociTag = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

// setParameter sets the field of a parameter. It reports whether the parameter is known, and
// returns the reason if its value is invalid.
func (p *parser) setParameter(name, value string) (known bool, reason string) {
	l := &p.loc
	repository := l.Kind == KindGit || l.Kind == KindMercurial
	switch {
	case l.Kind == KindOCI && name == "tag":
		if l.Tag = value; !ociTag.MatchString(value) {
			reason = "the tag is invalid"
		}
	case l.Kind == KindOCI && name == "digest":
		l.Digest = value
		algorithm, digits, _ := strings.Cut(value, ":")
		if sum, err := hex.DecodeString(digits); err != nil || algorithm == "" || len(sum) < 16 || len(sum) > 64 {
			reason = "the digest must be ALGORITHM:HEX"
		}
	case l.Kind == KindOCI:
		reason = "an oci location can only have the parameters tag and digest"
	case l.Kind == KindGit && name == "ref", l.Kind == KindMercurial && name == "rev":
		l.Ref, reason = value, checkRef(value)
	case l.Kind == KindGit && name == "depth":
		depth, err := strconv.Atoi(cmp.Or(value, "0"))
		if err == nil && depth > 0 {
			return false, "" // it stays in the URL
		}
		if err != nil || depth < 0 {
			reason = "the depth must be a number"
		}
	case l.Kind == KindGit && name == "sshkey":
		reason = "the parameter sshkey is not supported; configure the SSH key for git"
	case repository && (name == "archive" || name == "checksum"):
		reason = "the parameter " + name + " is for archives, not for repositories"
	case name == "archive":
		l.Archive, reason = parseFormat(value)
	case name == "checksum":
		l.Checksum, reason = canonicalChecksum(value)
	case name == "filename": // the name of a single file for go-getter
	default:
		return false, ""
	}
	return true, reason
}

// checkRef refuses texts that cannot name a branch, tag or commit, or that a program could
// take for an option or an expression.
func checkRef(ref string) string {
	bad := func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) || unicode.IsControl(r)
	}
	switch {
	case ref == "":
		return ""
	case len(ref) > 255:
		return "the ref is too long"
	case strings.ContainsAny(ref[:1], "-+/."), strings.HasSuffix(ref, "/"), strings.HasSuffix(ref, "."), strings.HasSuffix(ref, ".lock"),
		ref == "@", strings.Contains(ref, ".."), strings.Contains(ref, "//"), strings.Contains(ref, "@{"), strings.Contains(ref, "/."),
		strings.ContainsFunc(ref, bad):
		return "the ref must be the name of a branch or tag, or a commit"
	}
	return ""
}

// formats are the names of formats in parameters and at the end of paths. "gz" means a tar
// archive.
var formats = []struct{ name, format string }{
	{"zip", "zip"},
	{"tar.gz", "tar.gz"}, {"tgz", "tar.gz"}, {"gz", "tar.gz"},
	{"tar.bz2", "tar.bz2"}, {"tar.tbz2", "tar.bz2"}, {"tbz2", "tar.bz2"}, {"bz2", "tar.bz2"},
	{"tar.xz", "tar.xz"}, {"txz", "tar.xz"}, {"xz", "tar.xz"},
}

func parseFormat(value string) (format, reason string) {
	if value == "" {
		return "", ""
	}
	if yes, err := strconv.ParseBool(value); err == nil && !yes {
		return formatNone, ""
	}
	for _, f := range formats {
		if f.name == value {
			return f.format, ""
		}
	}
	return "", "the archive format must be zip, tar.gz, tar.bz2 or tar.xz"
}

// formatOfPath returns the format for the end of a URL's path.
func formatOfPath(address string) string {
	address, _, _ = strings.Cut(address, "?")
	for _, f := range formats {
		if strings.HasSuffix(address, "."+f.name) {
			return f.format
		}
	}
	return ""
}

// algorithms are those that a checksum parameter can name.
var algorithms = map[string]func() hash.Hash{"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}

// canonicalChecksum returns ALGORITHM:HEX in lower case. Like go-getter, it finds a missing
// algorithm by the length.
func canonicalChecksum(s string) (canonical, reason string) {
	if s == "" {
		return "", ""
	}
	name, digits, found := strings.Cut(strings.ToLower(s), ":")
	if found && name == "file" {
		return "", "a checksum in another file is not supported; state the checksum itself"
	}
	if !found {
		name, digits = "", name
	}
	sum, err := hex.DecodeString(digits)
	for algorithm, start := range algorithms {
		if err == nil && len(sum) == start().Size() && (name == "" || name == algorithm) {
			return algorithm + ":" + digits, ""
		}
	}
	return "", "the checksum must be md5, sha1, sha256 or sha512, a colon, and hex digits"
}

// Limits for texts in errors and events, in bytes.
const (
	maxShown = 1000 // location
	maxInput = 200  // refused text
)

// showAddress returns a URL without secrets and without its query. The user "git" of an SSH
// address is not secret.
func showAddress(address string) string {
	if path, _, _ := strings.Cut(address, "?"); sshURL(path) != path { // HOST:PATH has no user
		return showInput(path)
	}
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
func refuse(input, reason string) error {
	return &addrs.ParseError{Kind: "module location", Input: showInput(input), Reason: reason}
}
