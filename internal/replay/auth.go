package replay

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"hash"
	"math/big"
	"net"
	"sync"
	"time"
)

// The plug-ins that can check a password. Any other one is asked of the client and then refused.
const (
	nativePassword = "mysql_native_password"
	cachingSHA2    = "caching_sha2_password"
)

// The capabilities that matter.
const (
	clientFoundRows  = 1 << 1
	clientLongFlag   = 1 << 2
	clientWithDB     = 1 << 3
	clientProtocol41 = 1 << 9
	clientTLS        = 1 << 11
	clientTrans      = 1 << 13
	clientSecure     = 1 << 15
	clientMulti      = 1 << 17
	clientPluginAuth = 1 << 19
	clientAttributes = 1 << 20
	clientAuthLength = 1 << 21
)

// greeting is the server's first packet.
func greeting(version string, thread uint32, scramble []byte, plugin string, offerTLS bool) []byte {
	caps := uint32(1 | clientFoundRows | clientLongFlag | clientWithDB | clientProtocol41 | clientTrans | clientSecure)
	if plugin != "" {
		caps |= clientMulti | clientPluginAuth | clientAttributes | clientAuthLength
	}
	if offerTLS {
		caps |= clientTLS
	}
	b := append([]byte{10}, version...)
	b = binary.LittleEndian.AppendUint32(append(b, 0), thread)
	b = append(append(b, scramble[:8]...), 0)
	b = append(b, byte(caps), byte(caps>>8), charsetUTF8, statusAuto, 0, byte(caps>>16), byte(caps>>24))
	if plugin != "" {
		b = append(b, byte(len(scramble)+1))
	} else {
		b = append(b, 0)
	}
	b = append(b, make([]byte, 10)...)
	b = append(append(b, scramble[8:]...), 0)
	if plugin != "" {
		b = append(append(b, plugin...), 0)
	}
	return b
}

// login is what a client answers.
type login struct {
	caps   uint32
	user   string
	auth   []byte
	plugin string
}

func parseLogin(b []byte) (l login, ok bool) {
	if len(b) < 32 {
		return l, false
	}
	l.caps = binary.LittleEndian.Uint32(b)
	if len(b) == 32 { // it asks for TLS and says the rest encrypted
		return l, l.caps&clientTLS != 0
	}
	user, rest, ok := bytes.Cut(b[32:], []byte{0})
	if !ok {
		return l, false
	}
	l.user = string(user)
	n, rest, ok := cutLength(rest)
	if !ok || n > len(rest) {
		return l, false
	}
	l.auth, rest = rest[:n], rest[n:]
	if l.caps&clientWithDB != 0 {
		if _, rest, ok = bytes.Cut(rest, []byte{0}); !ok {
			return l, false
		}
	}
	if l.caps&clientPluginAuth != 0 {
		plugin, _, _ := bytes.Cut(rest, []byte{0})
		l.plugin = string(plugin)
	}
	return l, true
}

// scrambled is what a client that knows the password answers.
func scrambled(plugin, password string, scramble []byte) []byte {
	if password == "" {
		return nil
	}
	sum := func(h hash.Hash, parts ...[]byte) []byte {
		for _, p := range parts {
			h.Write(p)
		}
		return h.Sum(nil)
	}
	var once, mask []byte
	if plugin == cachingSHA2 {
		once = sum(sha256.New(), []byte(password))
		mask = sum(sha256.New(), sum(sha256.New(), once), scramble)
	} else {
		once = sum(sha1.New(), []byte(password))
		mask = sum(sha1.New(), scramble, sum(sha1.New(), once))
	}
	subtle.XORBytes(once, once, mask)
	return once
}

// loginKey is the RSA key with which passwords are encrypted where there is no TLS. Making one takes long.
var loginKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func publicPEM(key *rsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("replay: public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// decryptPassword undoes what a client does with the public key.
func decryptPassword(key *rsa.PrivateKey, sealed, scramble []byte) ([]byte, error) {
	plain, err := rsa.DecryptOAEP(sha1.New(), nil, key, sealed, nil)
	if err != nil {
		return nil, fmt.Errorf("replay: password: %w", err)
	}
	for i := range plain {
		plain[i] ^= scramble[i%len(scramble)]
	}
	return plain, nil
}

// certificate is of localhost, signed by itself.
var certificate = sync.OnceValues(func() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "recorded server"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
})
