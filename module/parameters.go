package module

import (
	"encoding/hex"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// parseQuery moves the parameters that have a meaning here into their fields. The
// rest is kept as it was written: it may be signed.
func (p *parser) parseQuery() string {
	if p.query == "" {
		return ""
	}
	var kept []string
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(p.query, "&") {
		raw, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(raw)
		take := p.field(name)
		if err != nil || take == nil {
			kept = append(kept, pair)
			continue
		}
		if seen[name] {
			return "the parameter " + name + " occurs twice"
		}
		seen[name] = true
		value, err := url.QueryUnescape(rawValue)
		if err != nil {
			return "the parameter " + name + " is badly escaped"
		}
		if reason := take(value); reason != "" {
			return reason
		}
	}
	p.query = strings.Join(kept, "&")
	return ""
}

// field returns what to do with the value of a parameter, nil if it stays.
func (p *parser) field(name string) func(value string) (reason string) {
	is := func(kind Kind, n string) bool { return p.Kind == kind && name == n }
	switch {
	case is(KindOCI, "tag"):
		return p.setTag
	case is(KindOCI, "digest"):
		return p.setDigest
	case p.Kind == KindOCI:
		return refused("an oci location has no other parameters than tag and digest")
	case is(KindGit, "ref"), is(KindMercurial, "rev"):
		return p.setRef
	case is(KindGit, "depth"):
		return p.setDepth
	case is(KindGit, "sshkey"):
		return refused("it brings an SSH key of its own, which is not used; let git have one by its configuration")
	case name == "archive" || name == "checksum":
		if p.Kind == KindGit || p.Kind == KindMercurial {
			return refused("the parameter " + name + " is for archives, not for repositories")
		}
		if name == "checksum" {
			return p.setChecksum
		}
		return p.setArchive
	case name == "filename": // where go-getter would store a single file
		return func(string) string { return "" }
	}
	return nil
}

// refused gives the same reason for every value.
func refused(reason string) func(string) string { return func(string) string { return reason } }

func (p *parser) setTag(value string) string {
	p.Tag = value
	if !ociTag.MatchString(value) {
		return "the tag is not valid"
	}
	return ""
}

func (p *parser) setDigest(value string) string {
	p.Digest = value
	algorithm, digits, _ := strings.Cut(value, ":")
	if sum, err := hex.DecodeString(digits); err != nil || algorithm == "" || len(sum) < 16 || len(sum) > 64 {
		return "the digest must be ALGORITHM:HEX"
	}
	return ""
}

// ociTag is a tag by the OCI distribution specification.
var ociTag = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

func (p *parser) setRef(value string) string {
	p.Ref = value
	return checkRef(value)
}

// checkRef refuses what is no name of a branch, tag or commit, or what a program
// would take for an option or for more than a name.
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

func (p *parser) setDepth(value string) string {
	if value == "" {
		return ""
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > 1<<30 {
		return "the depth must be a number"
	}
	p.Depth = n
	return ""
}

// formats are the names of formats in parameters and at the end of paths. What is
// called "gz" can only be a tar inside.
var formats = []struct {
	name   string
	format Format
}{
	{"zip", FormatZip},
	{"tar.gz", FormatTarGzip}, {"tgz", FormatTarGzip}, {"gz", FormatTarGzip},
	{"tar.bz2", FormatTarBzip2}, {"tar.tbz2", FormatTarBzip2}, {"tbz2", FormatTarBzip2}, {"bz2", FormatTarBzip2},
	{"tar.xz", FormatTarXz}, {"txz", FormatTarXz}, {"xz", FormatTarXz},
}

func (p *parser) setArchive(value string) string {
	if value == "" {
		return ""
	}
	if yes, err := strconv.ParseBool(value); err == nil && !yes {
		p.Archive = FormatNone
		return ""
	}
	for _, f := range formats {
		if f.name == value {
			p.Archive = f.format
			return ""
		}
	}
	return "the archive format must be zip, tar.gz, tar.bz2 or tar.xz"
}

// formatOfPath tells the format by the end of a URL's path.
func formatOfPath(address string) Format {
	address, _, _ = strings.Cut(address, "?")
	for _, f := range formats {
		if strings.HasSuffix(address, "."+f.name) {
			return f.format
		}
	}
	return FormatUnknown
}

func (p *parser) setChecksum(value string) (reason string) {
	p.Checksum, reason = canonicalChecksum(value)
	return reason
}

// finish puts the URL together when all parameters are known.
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
