import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.strimzi.crdgenerator.annotations.PresentInVersions;
import io.strimzi.crdgenerator.annotations.RequiredInVersions;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Map;

/**
 * Reads objects of API version v1 (a JSON array on stdin) with Strimzi's own classes, from which its schemas are made,
 * and prints each field that they do not have, that v1 does not have, or that is missing (a number that is missing is
 * read as 0, and not seen).
 */
public class Strimzi {
    private static final Map<String, String> KINDS = Map.of(
            "Kafka", "kafka.Kafka",
            "KafkaNodePool", "nodepool.KafkaNodePool",
            "KafkaTopic", "topic.KafkaTopic",
            "KafkaUser", "user.KafkaUser");

    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = JsonMapper.builder()
                .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
                .annotationIntrospector(new WithDefaults())
                .build();
        for (JsonNode node : mapper.readTree(System.in)) {
            String kind = node.get("kind").asText();
            if (!KINDS.containsKey(kind) || !node.get("apiVersion").asText().equals("kafka.strimzi.io/v1")) {
                System.out.println(node.get("apiVersion").asText() + " " + kind + " is not known here");
                continue;
            }
            try {
                Object read = mapper.treeToValue(node, Class.forName("io.strimzi.api.kafka.model." + KINDS.get(kind)));
                check(read, kind);
                checkKept(node.get("spec"), mapper.valueToTree(read).get("spec"), kind + ".spec");
            } catch (JsonProcessingException error) {
                System.out.println(kind + ": " + error.getOriginalMessage());
            }
        }
    }

    /** Writes what is a field's default, too. */
    private static class WithDefaults extends JacksonAnnotationIntrospector {
        @Override
        public JsonInclude.Value findPropertyInclusion(Annotated member) {
            return JsonInclude.Value.construct(JsonInclude.Include.ALWAYS, JsonInclude.Include.ALWAYS);
        }
    }

    /** A value that is none of a field's choices is read as nothing. */
    private static void checkKept(JsonNode given, JsonNode kept, String where) {
        if (kept == null || kept.isNull() && !given.isNull()) {
            System.out.println(where + " cannot be " + given);
        } else if (given.isArray()) {
            for (int at = 0; at < given.size(); at++) {
                checkKept(given.get(at), kept.get(at), where + "[]");
            }
        } else {
            given.fieldNames().forEachRemaining(name -> {
                if (kept.isObject()) {
                    checkKept(given.get(name), kept.get(name), where + "." + name);
                }
            });
        }
    }

    private static void check(Object value, String where) throws Exception {
        if (value instanceof Collection<?> list) {
            for (Object each : list) {
                check(each, where + "[]");
            }
        } else if (value instanceof Map<?, ?> map) {
            for (Map.Entry<?, ?> each : map.entrySet()) {
                check(each.getValue(), where + "." + each.getKey());
            }
        } else if (value != null && !value.getClass().isEnum() && isOurs(value)) {
            checkFields(value, where);
        }
    }

    private static boolean isOurs(Object value) {
        String name = value.getClass().getName();
        return name.startsWith("io.strimzi.") || name.startsWith("io.fabric8.kubernetes.api.model.");
    }

    private static void checkFields(Object value, String where) throws Exception {
        PresentInVersions whole = value.getClass().getAnnotation(PresentInVersions.class);
        if (whole != null && !hasV1(whole.value())) {
            System.out.println(where + ": v1 has no " + value.getClass().getSimpleName());
        }
        for (Method getter : value.getClass().getMethods()) {
            String name = getter.getName();
            if (!name.startsWith("get") || getter.getParameterCount() > 0 || name.equals("getClass") || getter.isBridge()) {
                continue;
            }
            Object field;
            try {
                field = getter.invoke(value);
            } catch (InvocationTargetException error) {
                continue; // what it computes of fields that are not set
            }
            String at = where + "." + Character.toLowerCase(name.charAt(3)) + name.substring(4);
            if (name.equals("getAdditionalProperties")) {
                for (Object unknown : ((Map<?, ?>) field).keySet()) {
                    System.out.println(where + " has no " + unknown);
                }
                continue;
            }
            PresentInVersions present = getter.getAnnotation(PresentInVersions.class);
            if (present != null && !hasV1(present.value()) && field != null) {
                System.out.println(at + ": v1 has no such field");
            }
            JsonProperty property = getter.getAnnotation(JsonProperty.class);
            RequiredInVersions required = getter.getAnnotation(RequiredInVersions.class);
            boolean isRequired = property != null && property.required() || required != null && hasV1(required.value());
            if (isRequired && field == null) {
                System.out.println(at + " is required");
            }
            check(field, at);
        }
    }

    /** Whether a range of versions ("v1beta2", "v1alpha1-v1beta2", "v1+", "v1beta2+", "all") has v1, the latest. */
    private static boolean hasV1(String range) {
        return range.equals("all") || range.endsWith("+") || range.equals("v1") || range.endsWith("-v1");
    }
}
