package cliconfig

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
)

// A fileReader reads the settings of one file.
type fileReader struct {
	sys       System
	set       *settings
	problems  *problems
	file      string
	lines     []int // offsets of the lines
	json      bool
	protocols *item // the first block registry_protocols
}

// place returns the line and column of an offset.
func (r *fileReader) place(at int) Place {
	line, ok := slices.BinarySearch(r.lines, at)
	if ok {
		line++
	}
	return Place{File: r.file, Line: line, Column: at - r.lines[line-1] + 1}
}

// errorf and warnf report a problem at an offset of the file.
func (r *fileReader) errorf(at int, format string, args ...any) {
	r.problems.add(&Problem{Place: r.place(at), Message: fmt.Sprintf(format, args...)})
}

func (r *fileReader) warnf(at int, format string, args ...any) {
	r.problems.warn(r.place(at), fmt.Sprintf(format, args...), nil)
}

// unknown warns that an argument of a block is ignored.
func (r *fileReader) unknown(it item, block string) {
	r.warnf(it.at(), "unknown argument %s of a block %q is ignored", quote(it.name()), block)
}

// otherSettings are settings of some version of the CLI that have no meaning here.
var otherSettings = []string{
	"providers", "provisioners", "disable_checkpoint", "disable_checkpoint_signature",
	"oci_credentials", "oci_default_credentials", // ignored for Terraform
}

// top reads the top-level items of a file.
func (r *fileReader) top(items []item) {
	for _, it := range items {
		switch {
		// As in the CLI, these five must be in lower case.
		case it.name() == "provider_installation":
			r.installation(it)
		case it.name() == "module_installation" && !r.sys.Terraform:
			r.moduleInstallation(it)
		case it.name() == "registry_protocols":
			r.registryProtocols(it)
		case it.name() == "oci_default_credentials" && !r.sys.Terraform:
			r.ociDefaultCredentials(it)
		case it.name() == "oci_credentials" && !r.sys.Terraform:
			r.ociCredentials(it)
		case it.is("credentials"):
			r.labelled(it, r.credentialsBlock)
		case it.is("credentials_helper"):
			r.labelled(it, r.helperBlock)
		case it.is("host"):
			r.labelled(it, r.hostBlock)
		case it.is("plugin_cache_dir"):
			r.pluginCacheDir(it)
		case it.is("plugin_cache_may_break_dependency_lock_file"):
			if on, ok := r.boolean(it); ok && on { // in any file
				r.set.mayBreakLock = true
			}
		case !slices.ContainsFunc(otherSettings, it.is):
			r.warnf(it.at(), "unknown setting %s is ignored", quote(it.name()))
		}
	}
}

// labelled calls read for each block of a setting with labelled blocks. In JSON, the label
// is the name of a member.
func (r *fileReader) labelled(it item, read func(label name, body value)) {
	switch {
	case len(it.names) > 2:
		r.errorf(it.names[2].at, "a block %q has one label", it.name())
	case it.value.kind != object:
		r.errorf(it.value.at, "%q must be a block, not %s", it.name(), it.value.kind)
	case len(it.names) == 2:
		read(it.names[1], it.value)
	default:
		for _, member := range it.value.body {
			r.labelled(item{names: append([]name{it.names[0]}, member.names...), value: member.value}, read)
		}
	}
}

// credentialsBlock reads the credentials of a host. If the block has no token, the host
// has no token, and the helper is not run.
func (r *fileReader) credentialsBlock(label name, body value) {
	host, ok := r.hostLabel(label, "credentials")
	if !ok {
		return
	}
	old := r.set.credentials[host]
	c := &credential{place: r.place(label.at), earlier: old}
	again := old != nil && old.place.File == r.file
	secret, has := value{kind: null, at: label.at}, false
	for _, it := range body.body {
		if it.name() == "token" {
			secret, has = it.value, true
		}
	}
	switch {
	case again && !has: // blocks of one file are merged
		c.token, c.err = old.token, old.err
	case secret.kind != text || secret.text == "":
		r.warnf(secret.at, "the credentials of %s have no token; the credentials helper is not run for this host", host.Display())
	default:
		if c.token, c.err = auth.NewToken(secret.text); c.err != nil {
			r.warnf(secret.at, "the token of %s cannot be sent: %v", host.Display(), c.err)
		}
	}
	if again {
		c.earlier = old.earlier
		r.warnf(label.at, "line %[2]d already has credentials of %[1]s; the last token is used", host.Display(), old.place.Line)
	}
	r.set.credentials[host] = c
}

// hostLabel parses the hostname in a label. Errors do not repeat the label, which may be
// a misplaced token.
func (r *fileReader) hostLabel(label name, block string) (svchost.Hostname, bool) {
	host, err := svchost.Parse(label.text)
	if e, ok := errors.AsType[*svchost.ParseError](err); ok {
		r.errorf(label.at, "the label of a block %q must be a hostname: %s", block, e.Reason)
	}
	return host, err == nil
}

// A host is the content of a host block.
type host struct {
	services *disco.Services
	place    Place
}

// hostBlock reads the services of a host. They replace discovery.
func (r *fileReader) hostBlock(label name, body value) {
	h, ok := r.hostLabel(label, "host")
	if !ok {
		return
	}
	services := map[disco.Service]any{}
	for _, it := range body.body {
		if !it.is("services") {
			r.unknown(it, "host")
			continue
		}
		if r.isArgument(it, true) && it.value.kind != object {
			r.errorf(it.value.at, "\"services\" must be a block, not %s", it.value.kind)
		}
		for _, service := range it.value.body {
			if r.isArgument(service, true) {
				services[disco.Service(service.name())] = jsonValue(service.value)
			}
		}
	}
	if old := r.set.hosts[h]; old != nil && old.place.File == r.file {
		r.warnf(label.at, "line %[2]d already has services of %[1]s; the last block is used", h.Display(), old.place.Line)
	}
	r.set.hosts[h] = &host{disco.NewServices(h, services), r.place(label.at)}
}

// jsonValue returns v as a value for encoding/json. A number becomes decimal: JSON has no
// hexadecimal and octal numbers.
func jsonValue(v value) any {
	switch v.kind {
	case boolean:
		return v.text == "true"
	case null:
		return nil
	case number:
		if n, err := strconv.ParseInt(v.text, 0, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(v.text, 64); err == nil {
			return f
		}
	case list:
		elements := make([]any, 0, len(v.list))
		for _, e := range v.list {
			elements = append(elements, jsonValue(e))
		}
		return elements
	case object:
		members := map[string]any{}
		for _, it := range v.body {
			members[it.name()] = jsonValue(it.value)
		}
		return members
	}
	return v.text
}

// helperBlock reads the name and the arguments of a credentials helper.
func (r *fileReader) helperBlock(label name, body value) {
	h := &helper{name: label.text, place: r.place(label.at)}
	for _, it := range body.body {
		if !it.is("args") {
			r.unknown(it, "credentials_helper")
			continue
		}
		for _, a := range r.texts(it) {
			h.args = append(h.args, a.text)
		}
	}
	if old := r.set.helper; old != nil && old.name != h.name {
		r.errorf(label.at, "a second credentials helper; the first one is at %s", old.place)
		return
	}
	r.set.helper = h
}

// registryProtocols reads the block registry_protocols. If several files set an argument,
// the last file counts.
func (r *fileReader) registryProtocols(it item) {
	if it.value.kind != object || len(it.names) > 1 {
		r.errorf(it.at(), "\"registry_protocols\" must be a block without labels")
		return
	}
	if r.protocols != nil {
		r.errorf(it.at(), "a second block \"registry_protocols\"; the first one is in line %d", r.place(r.protocols.at()).Line)
		return
	}
	r.protocols = &it
	for _, arg := range it.value.body {
		switch {
		case arg.is("retry_count"):
			if n, ok := r.count(arg); ok {
				r.set.requests.retries = orDisabled(n)
			}
		case arg.is("request_timeout_seconds"):
			if n, ok := r.count(arg); ok {
				r.set.requests.timeout = time.Duration(orDisabled(n)) * time.Second
			}
		default:
			r.unknown(arg, "registry_protocols")
		}
	}
}

// orDisabled returns n, or a negative number for 0.
func orDisabled(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// pluginCacheDir reads the setting plugin_cache_dir. The first file counts, and in it the last setting.
func (r *fileReader) pluginCacheDir(it item) {
	written, ok := r.text(it)
	if !ok {
		return
	}
	dir, ok := r.sys.expand(written)
	if !ok {
		r.errorf(it.value.at, "the path is too long")
		return
	}
	if dir == "" || r.set.cacheDir != "" && r.set.cachePlace.File != r.file {
		return
	}
	r.set.cachePlace = r.place(it.at())
	r.set.cacheDir, r.set.cacheShown = r.sys.abs(dir), r.sys.abs(dir)
	if dir != written {
		r.set.cacheShown = written // a variable can contain a token
	}
}

// maxPath is the maximum length of a path, before and after the expansion of variables.
const maxPath = 32 << 10

// expand replaces $NAME and ${NAME} by the values of variables. It returns false if the
// text or the result is longer than maxPath.
func (s System) expand(text string) (string, bool) {
	size := len(text)
	if size > maxPath {
		return "", false
	}
	getenv := s.variables()
	text = os.Expand(text, func(name string) string {
		if size > maxPath {
			return ""
		}
		value := getenv(name)
		size += len(value)
		return value
	})
	return text, size <= maxPath
}

// isArgument reports whether it is an argument without labels, or a block if permitted. It
// reports an error if not.
func (r *fileReader) isArgument(it item, block bool) bool {
	switch {
	case len(it.names) > 1:
		r.errorf(it.names[1].at, "%q has no labels", it.name())
	case !it.equals && !block:
		r.errorf(it.value.at, "%q is an argument and needs an equals sign", it.name())
	default:
		return true
	}
	return false
}

// hasKind reports whether it is an argument whose value has one of kinds. It reports an
// error if not.
func (r *fileReader) hasKind(it item, want string, kinds ...kind) bool {
	if !r.isArgument(it, false) {
		return false
	}
	if !slices.Contains(kinds, it.value.kind) {
		r.errorf(it.value.at, "%q must be %s, not %s", it.name(), want, it.value.kind)
		return false
	}
	return true
}

// text returns the value of a string argument. As in the CLI, a number is a string too,
// and null is the empty string.
func (r *fileReader) text(it item) (string, bool) {
	if !r.hasKind(it, "a string", text, number, null) {
		return "", false
	}
	return it.value.text, true
}

func (r *fileReader) boolean(it item) (on, ok bool) {
	return it.value.text == "true", r.hasKind(it, "true or false", boolean)
}

// texts returns the elements of a list of strings.
func (r *fileReader) texts(it item) []name {
	if !r.hasKind(it, "a list of strings", list) {
		return nil
	}
	var elements []name
	for _, v := range it.value.list {
		if v.kind != text && v.kind != number {
			r.errorf(v.at, "%q must be a list of strings, not of %s", it.name(), v.kind)
			continue
		}
		elements = append(elements, name{v.text, v.at})
	}
	return elements
}

// maxCount is the maximum of counts and seconds. It prevents overflows.
const maxCount = 1 << 20

// count returns the value of an argument that must be a number of 0 or more. As in the
// CLI, it can be a string with a number.
func (r *fileReader) count(it item) (int, bool) {
	if !r.hasKind(it, "a whole number", number, text) {
		return 0, false
	}
	n, err := strconv.ParseInt(it.value.text, 0, 64)
	switch {
	case err != nil:
		r.errorf(it.value.at, "%q must be a whole number", it.name())
	case n < 0 || n > maxCount:
		r.errorf(it.value.at, "%q must be between 0 and %d", it.name(), maxCount)
	default:
		return int(n), true
	}
	return 0, false
}
