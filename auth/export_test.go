package auth

import "github.com/tofureg/tofureg/disco/svchost"

// CleanStderr calls cleanStderr.
func CleanStderr(stderr string, cut bool, token Token, answer string) string {
	return cleanStderr([]byte(stderr), cut, token, []byte(answer))
}

// ReadAnswer calls parseAnswer.
func ReadAnswer(text []byte) (Token, error) { return parseAnswer(text) }

// ReadCredentials returns the token of host in the text of a credentials file.
func ReadCredentials(text []byte, host svchost.Hostname) (Token, error) {
	doc, err := parseDocument("", text)
	if err != nil {
		return Token{}, err
	}
	return doc.token(host)
}

// EditCredentials returns the text after saving token, or after forgetting host if token is
// zero.
func EditCredentials(text []byte, host svchost.Hostname, token Token) ([]byte, error) {
	doc, err := parseDocument("", text)
	if err != nil {
		return nil, err
	}
	if token.IsZero() {
		doc.forget(host)
	} else {
		doc.save(host, token)
	}
	return doc.text(), nil
}
