package lint_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const folder = "../helm/rialto"

// cluster is the values of a deployment of three nodes.
const cluster = `
replicas: 3
postgres: {existingSecret: rialto-postgres}
s3: {endpoint: "https://s3.example.com", region: eu-central-1, bucket: rialto, prefix: files, existingSecret: rialto-s3}
config: {gateway: {max_connections: 50000}, chat: {retention: company}}
ingress: {enabled: true, className: nginx, host: chat.example.com, tlsSecret: chat-tls}
networkPolicy: {enabled: true, monitoring: [{namespaceSelector: {matchLabels: {name: monitoring}}}]}
serviceAccount: {create: true, name: chat, annotations: {a: b}}
imagePullSecrets: [{name: registry}]
nodeSelector: {pool: chat}
tolerations: [{key: chat, operator: Exists}]
podAnnotations: {a: b}
podLabels: {c: d}
service: {type: LoadBalancer, port: 80, annotations: {a: b}}
extraEnv: [{name: RIALTO_ACCOUNT_CODE_WEBHOOK_SECRET, valueFrom: {secretKeyRef: {name: webhook, key: secret}}}]
`

func render(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	c, err := loader.Load(folder)
	must(t, err)
	given, err := chartutil.ReadValues([]byte(values))
	must(t, err)
	all, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: "chat", Namespace: "social", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(c, all)
}

// objects renders and decodes strictly: an unknown field is an error, and so is a repeated one.
func objects(t *testing.T, values string) (found []runtime.Object) {
	t.Helper()
	files, err := render(t, values)
	must(t, err)
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for name, text := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		for part := range strings.SplitSeq(text, "\n---\n") {
			if strings.TrimSpace(part) == "" {
				continue
			}
			o, _, err := decoder.Decode([]byte(part), nil, nil)
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, part)
				continue
			}
			found = append(found, o)
		}
	}
	return found
}

// only returns the objects of a kind.
func only[T runtime.Object](list []runtime.Object) (found []T) {
	for _, o := range list {
		if o, ok := o.(T); ok {
			found = append(found, o)
		}
	}
	return found
}

// Helm's own linter has no warnings.
func TestTheChartPassesHelmLint(t *testing.T) {
	for _, values := range []string{"", cluster} {
		given, err := chartutil.ReadValues([]byte(values))
		must(t, err)
		for _, m := range lint.AllWithKubeVersion(folder, given, "social", &chartutil.KubeVersion{Version: "v1.34.0", Major: "1", Minor: "34"}).Messages {
			if m.Severity > support.InfoSev {
				t.Error(m)
			}
		}
	}
}

// The rendered objects of three nodes are as the scaling guide describes them.
func TestThreeNodesInKubernetes(t *testing.T) {
	all := objects(t, cluster)
	sets := only[*appsv1.StatefulSet](all)
	if len(sets) != 1 || *sets[0].Spec.Replicas != 3 || len(sets[0].Spec.VolumeClaimTemplates) != 0 {
		t.Fatalf("got %d StatefulSets, want one with 3 replicas and without volume claims: %v", len(sets), sets)
	}
	pod := sets[0].Spec.Template
	container := pod.Spec.Containers[0]
	ports := map[intstr.IntOrString]bool{}
	for _, p := range container.Ports {
		ports[intstr.FromString(p.Name)] = true
	}
	services := only[*corev1.Service](all)
	headless := 0
	for _, s := range services {
		for k, v := range s.Spec.Selector {
			if pod.Labels[k] != v {
				t.Errorf("the selector %s of service %s does not match the nodes", k, s.Name)
			}
		}
		for _, p := range s.Spec.Ports {
			if !ports[p.TargetPort] {
				t.Errorf("service %s targets port %v, which the container lacks", s.Name, p.TargetPort)
			}
		}
		if s.Spec.ClusterIP == corev1.ClusterIPNone {
			headless++
			if sets[0].Spec.ServiceName != s.Name {
				t.Errorf("service of the StatefulSet: got %s, want %s", sets[0].Spec.ServiceName, s.Name)
			}
		}
	}
	if len(services) != 2 || headless != 1 {
		t.Errorf("got %d services, %d of them headless, want 2 and 1", len(services), headless)
	}
	for name, probe := range map[string]*corev1.Probe{"/readyz": container.ReadinessProbe, "/healthz": container.LivenessProbe} {
		if probe.HTTPGet.Path != name || !ports[probe.HTTPGet.Port] || probe.HTTPGet.Port.StrVal != "admin" {
			t.Errorf("probe of %s: got %v, want the admin port", name, probe.HTTPGet)
		}
	}
	if s := container.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || !*pod.Spec.SecurityContext.RunAsNonRoot {
		t.Errorf("the security context grants too much: %v", s)
	}
	if *pod.Spec.EnableServiceLinks {
		t.Error("enableServiceLinks must be false: its variables would be read as settings")
	}
	budgets := only[*policyv1.PodDisruptionBudget](all)
	if len(budgets) != 1 || budgets[0].Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("disruption budgets: got %v, want one with maxUnavailable 1", budgets)
	}
	ingresses := only[*networkingv1.Ingress](all)
	if len(ingresses) != 1 || !slices.ContainsFunc(services, func(s *corev1.Service) bool {
		return s.Name == ingresses[0].Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name && s.Spec.ClusterIP == ""
	}) {
		t.Errorf("the ingress targets no service: %v", ingresses)
	}
	if len(only[*networkingv1.NetworkPolicy](all)) != 1 || len(only[*corev1.ServiceAccount](all)) != 1 {
		t.Error("the network policy or the service account is missing")
	}
	mounted := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		mounted[v.Name] = true
	}
	for _, m := range container.VolumeMounts {
		if !mounted[m.Name] {
			t.Errorf("the mounted volume %s does not exist", m.Name)
		}
	}
}

// The server accepts the chart's variables and configuration file, with values in place of secrets and addresses.
func TestTheServerAcceptsTheChartsSettings(t *testing.T) {
	for _, values := range []string{"", cluster} {
		all := objects(t, values)
		var env []string
		for _, e := range only[*appsv1.StatefulSet](all)[0].Spec.Template.Spec.Containers[0].Env {
			value := strings.ReplaceAll(e.Value, "$(POD_IP)", "10.1.2.3")
			if e.ValueFrom != nil {
				value = "a-value-of-its-own"
				if e.Name == "RIALTO_POSTGRES" {
					value = "postgres://rialto@db/rialto?sslmode=verify-full"
				}
			}
			env = append(env, e.Name+"="+value)
		}
		if values != "" {
			env = append(env, "RIALTO_ACCOUNT_CODE_WEBHOOK_URL=https://example.com/code")
		}
		file := write(t, t.TempDir(), "rialto.yaml", only[*corev1.ConfigMap](all)[0].Data["rialto.yaml"])
		checkSettings(t, file, env)
	}
}

// A single node has a volume for its data.
func TestOneNodeInKubernetes(t *testing.T) {
	all := objects(t, "")
	sets := only[*appsv1.StatefulSet](all)
	if len(sets) != 1 || *sets[0].Spec.Replicas != 1 || len(sets[0].Spec.VolumeClaimTemplates) != 1 {
		t.Fatalf("StatefulSets: got %v, want one with one replica and one volume claim", sets)
	}
	claim := sets[0].Spec.VolumeClaimTemplates[0].Name
	if !slices.ContainsFunc(sets[0].Spec.Template.Spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == claim && m.MountPath == "/var/lib/rialto" }) {
		t.Error("the volume claim is not mounted")
	}
	if len(only[*policyv1.PodDisruptionBudget](all)) != 0 {
		t.Error("a disruption budget for a single node would prevent draining its machine")
	}
}

// The chart refuses values that would lose data or not work, and says why.
func TestTheChartRefusesUnsafeValues(t *testing.T) {
	for values, want := range map[string]string{
		"replicas: 3": "give postgres.existingSecret",
		"{replicas: 3, postgres: {existingSecret: a}}": "give s3.endpoint",
		"s3: {bucket: b}":                                  "give s3.endpoint",
		"{replicas: 0}":                                    "replicas",
		"replica: 3":                                       "replica",
		"image: {repository: r, digest: latest}":           "digest",
		"ingress: {enabled: true}":                         "host",
		"{drainSeconds: 60}":                               "terminationGracePeriodSeconds",
		"{service: {type: External}}":                      "service",
		"{s3: {endpoint: s3.example.com, bucket: rialto}}": "endpoint",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

// The schema has each value, so that misspelled values are refused.
func TestTheSchemaHasEachValue(t *testing.T) {
	var values map[string]any
	must(t, yaml.Unmarshal([]byte(read(t, folder+"/values.yaml")), &values))
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	must(t, yaml.Unmarshal(bytes.TrimSpace([]byte(read(t, folder+"/values.schema.json"))), &schema))
	for name := range values {
		if schema.Properties[name] == nil {
			t.Errorf("the schema lacks the value %s", name)
		}
	}
}
