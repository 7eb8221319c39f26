package module

import (
	"encoding/hex"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

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

// setParameter sets the field of a parameter. It reports whether the parameter is known, and
// returns the reason if its value is invalid.
func (p *parser) setParameter(name, value string) (known bool, reason string) {
	repository := p.Kind == KindGit || p.Kind == KindMercurial
	switch {
	case p.Kind == KindOCI && name == "tag":
		p.Tag, reason = value, checkTag(value)
	case p.Kind == KindOCI && name == "digest":
		p.Digest, reason = value, checkDigest(value)
	case p.Kind == KindOCI:
		reason = "an oci location can only have the parameters tag and digest"
	case p.Kind == KindGit && name == "ref", p.Kind == KindMercurial && name == "rev":
		p.Ref, reason = value, checkRef(value)
	case p.Kind == KindGit && name == "depth":
		p.Depth, reason = parseDepth(value)
	case p.Kind == KindGit && name == "sshkey":
		reason = "the parameter sshkey is not supported; configure the SSH key for git"
	case repository && (name == "archive" || name == "checksum"):
		reason = "the parameter " + name + " is for archives, not for repositories"
	case name == "archive":
		p.Archive, reason = parseFormat(value)
	case name == "checksum":
		p.Checksum, reason = canonicalChecksum(value)
	case name == "filename": // the name of a single file for go-getter
	default:
		return false, ""
	}
	return true, reason
}

// ociTag matches a tag of the OCI distribution specification.
var ociTag = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

func checkTag(tag string) string {
	if !ociTag.MatchString(tag) {
		return "the tag is invalid"
	}
	return ""
}

func checkDigest(digest string) string {
	algorithm, digits, _ := strings.Cut(digest, ":")
	if sum, err := hex.DecodeString(digits); err != nil || algorithm == "" || len(sum) < 16 || len(sum) > 64 {
		return "the digest must be ALGORITHM:HEX"
	}
	return ""
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
	case strings.HasPrefix(ref, "-"), strings.HasPrefix(ref, "+"), strings.HasPrefix(ref, "/"), strings.HasSuffix(ref, "/"),
		strings.HasSuffix(ref, "."), strings.HasSuffix(ref, ".lock"), ref == "@",
		strings.Contains(ref, ".."), strings.Contains(ref, "//"), strings.Contains(ref, "@{"), strings.Contains(ref, "/."),
		strings.HasPrefix(ref, "."), strings.ContainsFunc(ref, bad):
		return "the ref must be the name of a branch or tag, or a commit"
	}
	return ""
}

func parseDepth(value string) (int, string) {
	if value == "" {
		return 0, ""
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > 1<<30 {
		return 0, "the depth must be a number"
	}
	return n, ""
}

// formats are the names of formats in parameters and at the end of paths. "gz" means a tar
// archive.
var formats = []struct {
	name   string
	format Format
}{
	{"zip", FormatZip},
	{"tar.gz", FormatTarGzip}, {"tgz", FormatTarGzip}, {"gz", FormatTarGzip},
	{"tar.bz2", FormatTarBzip2}, {"tar.tbz2", FormatTarBzip2}, {"tbz2", FormatTarBzip2}, {"bz2", FormatTarBzip2},
	{"tar.xz", FormatTarXz}, {"txz", FormatTarXz}, {"xz", FormatTarXz},
}

func parseFormat(value string) (Format, string) {
	if value == "" {
		return FormatUnknown, ""
	}
	if yes, err := strconv.ParseBool(value); err == nil && !yes {
		return FormatNone, ""
	}
	for _, f := range formats {
		if f.name == value {
			return f.format, ""
		}
	}
	return FormatUnknown, "the archive format must be zip, tar.gz, tar.bz2 or tar.xz"
}

// formatOfPath returns the format for the end of a URL's path.
func formatOfPath(address string) Format {
	address, _, _ = strings.Cut(address, "?")
	for _, f := range formats {
		if strings.HasSuffix(address, "."+f.name) {
			return f.format
		}
	}
	return FormatUnknown
}

// finish sets the URL when all parameters are known.
func (p *parser) finish() string {
	p.URL = p.address
	if p.query != "" {
		p.URL += "?" + p.query
	}
	if p.Tag != "" && p.Digest != "" {
		return "it must not have both a tag and a digest"
	}
	switch p.Kind {
	case KindHTTP, KindS3, KindGCS, KindLocal, KindOther:
		if p.Archive == FormatUnknown {
			p.Archive = formatOfPath(p.address)
		}
	}
	return ""
}
