package module

import (
	"net/url"
	"strings"
)

// The short forms of addresses. Each method returns false if the address is of
// another form, otherwise what is wrong with it, "" if nothing is.

// github makes a repository of github.com/OWNER/REPO; what follows is a directory.
func (p *parser) github() (bool, string) { return p.hosted("github.com", true) }

// bitbucket is github for bitbucket.org, where no directory may follow.
func (p *parser) bitbucket() (bool, string) { return p.hosted("bitbucket.org", false) }

func (p *parser) hosted(host string, subdirs bool) (bool, string) {
	rest, ok := strings.CutPrefix(p.address, host+"/")
	if !ok {
		return false, ""
	}
	owner, rest, _ := strings.Cut(rest, "/")
	repo, subdir, _ := strings.Cut(rest, "/")
	if owner == "" || repo == "" || subdir != "" && !subdirs {
		return true, "it must be " + host + "/OWNER/REPO"
	}
	p.repository("https://" + host + "/" + owner + "/" + strings.TrimSuffix(repo, ".git") + ".git")
	return true, p.within(subdir)
}

// scp makes a URL of git@HOST:PATH. Only this user tells that a repository of git is
// meant, unless "git::" does.
func (p *parser) scp() (bool, string) {
	user, rest, ok := strings.Cut(p.address, "@")
	host, path, colon := strings.Cut(rest, ":")
	switch {
	case !ok || !colon || strings.ContainsAny(user+host, "/:@"):
		return false, ""
	case user != "git" && p.forced != "git":
		return false, ""
	case user == "" || host == "" || strings.Trim(path, "/") == "":
		return true, "it must be git@HOST:PATH"
	}
	u := url.URL{Scheme: "ssh", User: url.User(user), Host: host, Path: "/" + strings.TrimLeft(path, "/")}
	p.repository(u.String())
	return true, ""
}

func (p *parser) repository(address string) {
	p.address = address
	if p.forced == "" {
		p.forced = "git"
	}
}

// gcs takes www.googleapis.com/storage/VERSION/BUCKET/OBJECT.
func (p *parser) gcs() (bool, string) {
	host, path, _ := strings.Cut(p.address, "/")
	if !strings.HasSuffix(host, ".googleapis.com") {
		return false, ""
	}
	parts := strings.SplitN(path, "/", 4)
	if len(parts) < 4 || parts[0] != "storage" || !strings.HasPrefix(parts[1], "v") || parts[2] == "" || parts[3] == "" {
		return true, "it must be www.googleapis.com/storage/v1/BUCKET/OBJECT"
	}
	p.address = "https://www.googleapis.com/" + path
	return true, p.force("gcs")
}

// s3 takes the forms that buckets have had over time: s3[-REGION].amazonaws.com/BUCKET,
// BUCKET.s3[-REGION].amazonaws.com and BUCKET.s3.REGION.amazonaws.com.
func (p *parser) s3() (bool, string) {
	const form = "it must be s3.amazonaws.com/BUCKET/OBJECT or BUCKET.s3.amazonaws.com/OBJECT"
	host, path, found := strings.Cut(p.address, "/")
	name, ok := strings.CutSuffix(host, ".amazonaws.com")
	if !ok {
		return false, ""
	}
	labels := strings.Split(name, ".")
	switch {
	case !found || path == "":
		return true, form
	case len(labels) == 1, len(labels) == 2 && labels[0] == "s3":
		p.address = "https://" + host + "/" + path
	case len(labels) == 2:
		p.address = "https://" + labels[1] + ".amazonaws.com/" + labels[0] + "/" + path
	case len(labels) == 3 && labels[1] == "s3":
		p.address = "https://s3." + labels[2] + ".amazonaws.com/" + labels[0] + "/" + path
	default:
		return true, form
	}
	return true, p.force("s3")
}

// force sets the getter of a short form that has only one.
func (p *parser) force(getter string) string {
	if p.forced != "" && p.forced != getter {
		return "it is an address for " + getter + "::, not for " + p.forced + "::"
	}
	p.forced = getter
	return ""
}
